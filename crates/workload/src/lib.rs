//! What is asked of a drive: patterns, jobs, and the forms they are written in.
