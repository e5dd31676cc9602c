//! Replies, in the form of RESP2 or RESP3 as the client chose with HELLO.

use std::fmt::Display;

/// Appends replies to bytes.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    bytes: Vec<u8>,
    is_resp3: bool,
}

impl Reply {
    /// Begins an empty reply.
    pub fn new(is_resp3: bool) -> Self {
        Self { bytes: Vec::new(), is_resp3 }
    }

    /// Returns what was appended.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the number of bytes that were appended.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Removes what was appended behind the first `length` bytes.
    pub fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
    }

    /// Goes on in RESP3 or RESP2.
    pub fn set_resp3(&mut self, is_resp3: bool) {
        self.is_resp3 = is_resp3;
    }

    fn line(&mut self, kind: u8, content: &[u8]) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(content);
        self.bytes.extend_from_slice(b"\r\n");
    }

    fn number(&mut self, kind: u8, number: i64) {
        let (mut digits, mut at, mut left) = ([0_u8; 20], 20, number.unsigned_abs());
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.bytes.push(kind);
        if number < 0 {
            self.bytes.push(b'-');
        }
        self.bytes.extend_from_slice(&digits[at..]);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// A status.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// The status of a command that did what it was asked for.
    pub fn ok(&mut self) {
        self.simple("OK");
    }

    /// An error; the text begins with its code. Line ends within are replaced.
    pub fn error(&mut self, error: impl Display) {
        let text = error.to_string().replace(['\r', '\n'], " ");
        self.line(b'-', text.as_bytes());
    }

    /// An integer.
    pub fn integer(&mut self, number: i64) {
        self.number(b':', number);
    }

    /// A string of any bytes.
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.number(b'$', bytes.len() as i64);
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// A string of any bytes, or that there is none.
    pub fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// A text for people, with its format in RESP3.
    pub fn verbatim(&mut self, text: &str) {
        if self.is_resp3 {
            self.number(b'=', text.len() as i64 + 4);
            self.bytes.extend_from_slice(b"txt:");
            self.bytes.extend_from_slice(text.as_bytes());
            self.bytes.extend_from_slice(b"\r\n");
        } else {
            self.bulk(text.as_bytes());
        }
    }

    /// That there is no string.
    pub fn null(&mut self) {
        self.bytes.extend_from_slice(if self.is_resp3 { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// That there is no array.
    pub fn null_array(&mut self) {
        self.bytes.extend_from_slice(if self.is_resp3 { b"_\r\n" } else { b"*-1\r\n" });
    }

    /// The head of an array; its elements follow.
    pub fn array(&mut self, elements: usize) {
        self.number(b'*', elements as i64);
    }

    /// The head of a map; a key and a value follow for each pair. An array in RESP2.
    pub fn map(&mut self, pairs: usize) {
        match self.is_resp3 {
            true => self.number(b'%', pairs as i64),
            false => self.number(b'*', 2 * pairs as i64),
        }
    }

    /// The head of a set; its elements follow. An array in RESP2.
    pub fn set(&mut self, elements: usize) {
        self.number(if self.is_resp3 { b'~' } else { b'*' }, elements as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_have_the_form_of_their_version() {
        let write = |is_resp3: bool| {
            let mut reply = Reply::new(is_resp3);
            reply.ok();
            reply.error("ERR a\r\nb");
            [0, -1, i64::MIN, i64::MAX].into_iter().for_each(|number| reply.integer(number));
            reply.bulk(b"a\r\n");
            reply.null();
            reply.null_array();
            reply.map(1);
            reply.set(2);
            reply.array(0);
            reply.verbatim("x");
            String::from_utf8(reply.into_bytes()).unwrap().replace("\r\n", "|")
        };
        let same = "+OK|-ERR a  b|:0|:-1|:-9223372036854775808|:9223372036854775807|$3|a||";
        assert_eq!(write(false), format!("{same}$-1|*-1|*2|*2|*0|$1|x|"));
        assert_eq!(write(true), format!("{same}_|_|%1|~2|*0|=5|txt:x|"));
    }
}
