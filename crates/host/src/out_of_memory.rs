//! The end of a program to which the system gives no memory.

use std::hint::black_box;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

/// Longest line that is written.
const LINE_BYTES: usize = 160;

/// Returns whether the system would map this much memory now. It is not kept.
pub fn has_address_space(bytes: u64) -> bool {
    let Ok(bytes) = usize::try_from(bytes.max(1)) else { return false };
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address of the system's choice touches no other memory.
    let mapped = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
    // SAFETY: the mapping was made above with this length, and nothing uses it.
    mapped != libc::MAP_FAILED && unsafe { libc::munmap(mapped, bytes) } == 0
}

/// Lets the stack grow by what a program needs, or ends the program. Later the kernel would end it without a message,
/// where a limit on its address space leaves no room for the stack.
pub fn reserve_stack() {
    const BYTES: usize = 512 << 10;
    // A function of its own: the stack grows as it begins.
    #[inline(never)]
    fn grow() {
        black_box([MaybeUninit::<u8>::uninit(); BYTES].as_mut_ptr());
    }
    // By somewhat more, for what the caller's and this function's frames take.
    if !has_address_space(2 * BYTES as u64) {
        end_out_of_memory(BYTES);
    }
    grow();
}

/// Ends the program with exit status 1, and a line on standard error with the bytes that were asked for. Allocates
/// nothing and takes no lock, so that an allocator may call it.
pub fn end_out_of_memory(asked_bytes: usize) -> ! {
    let mut line = Line { text: [0; LINE_BYTES], length: 0 };
    line.push(b"flashlane: out of memory: the system does not give ");
    line.push_number(asked_bytes);
    line.push(b" B more; use less at a time, or raise the limit (ulimit -v)\n");
    // Where it cannot be written, the exit status says that something failed.
    _ = rustix::io::write(io::stderr().as_fd(), &line.text[..line.length]);
    // SAFETY: the call does not return, and runs no code of this program.
    unsafe { libc::_exit(1) }
}

struct Line {
    text: [u8; LINE_BYTES],
    length: usize,
}

impl Line {
    fn push(&mut self, part: &[u8]) {
        self.text[self.length..][..part.len()].copy_from_slice(part);
        self.length += part.len();
    }

    fn push_number(&mut self, number: usize) {
        let mut digits = [0; 20];
        let (mut first, mut rest) = (digits.len(), number);
        while rest > 0 || first == digits.len() {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.push(&digits[first..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_decimal() {
        for number in [0, 7, 10, 190_000, usize::MAX] {
            let mut line = Line { text: [0; LINE_BYTES], length: 0 };
            line.push_number(number);
            assert_eq!(&line.text[..line.length], number.to_string().as_bytes());
        }
    }
}
