//! Real drives and files: system calls, threads and the wall clock, and nowhere else.
