//! Requests of the Redis protocol, read from bytes that come in any parts.
//!
//! A request is an array of bulk strings (`*2\r\n$3\r\nGET\r\n$1\r\na\r\n`, the same in RESP2 and RESP3) or a line of
//! words (an inline command). The parser keeps the part of a request that has come, so a byte is looked at once however
//! the input is split. Memory is taken for bytes that came, never for a length that was only announced.
//!
//! Invariant: between calls the parser holds the bytes of one incomplete request, and nothing else.

use flashlane_base::units::exact_bytes;

/// Longest line: a length, or an inline command.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Most arguments of a request.
const ARGUMENTS_MAX: i64 = 1 << 20;
/// Bytes for which a request has memory when it begins, so that short arguments before a long one take none again.
const NAME_AND_KEY_BYTES: usize = 64;
/// Most arguments, and longest argument, before the client has given the password.
const ARGUMENTS_MAX_BEFORE_AUTH: i64 = 10;
const ARGUMENT_BYTES_MAX_BEFORE_AUTH: i64 = 16 << 10;

/// A command and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    bytes: Vec<u8>,
    /// The end of each argument in `bytes`.
    ends: Vec<usize>,
}

/// Why a client's bytes are no request. The connection cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A number of arguments is no number, or too high.
    #[error("Protocol error: invalid multibulk length")]
    ArrayLength,
    /// Too many arguments before a password was given.
    #[error("Protocol error: unauthenticated multibulk length")]
    ArrayBeforeAuth,
    /// An argument is no bulk string.
    #[error("Protocol error: expected '$', got '{}'", char::from(*.got).escape_default())]
    NoBulk {
        /// The byte instead.
        got: u8,
    },
    /// A length is no number, or negative, or above the limit.
    #[error("Protocol error: invalid bulk length")]
    BulkLength,
    /// An argument is too long before a password was given.
    #[error("Protocol error: unauthenticated bulk length")]
    BulkBeforeAuth,
    /// A line with a number does not end.
    #[error("Protocol error: too big {0} count string")]
    LongCount(&'static str),
    /// An inline command does not end.
    #[error("Protocol error: too big inline request")]
    LongLine,
    /// An inline command has a quote that is not closed.
    #[error("Protocol error: unbalanced quotes in request")]
    Quotes,
    /// The arguments together are too long.
    #[error("Protocol error: the request exceeds {}", exact_bytes(*.most_bytes))]
    LongRequest {
        /// Most bytes of a request.
        most_bytes: u64,
    },
}

/// Limits of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// Most bytes of all arguments of a request.
    pub request_bytes_max: u64,
    /// Whether the client has given the password, or none is needed.
    pub is_authenticated: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Before a request.
    #[default]
    Start,
    /// In the line of an array's length.
    ArrayLength,
    /// In an inline command.
    Inline,
    /// Before an argument, of which `left` are to come.
    Argument { left: i64 },
    /// In the line of an argument's length.
    Length { left: i64 },
    /// In an argument of which `bytes` are to come, and its line end.
    Bytes { left: i64, bytes: usize },
}

/// Reads requests.
#[derive(Debug, Default)]
pub struct Parser {
    state: State,
    line: Vec<u8>,
    request: Request,
}

impl Request {
    /// Makes a request of arguments.
    pub fn of<'a>(arguments: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut request = Self::default();
        for argument in arguments {
            request.bytes.extend_from_slice(argument);
            request.ends.push(request.bytes.len());
        }
        request
    }

    /// Returns the number of arguments, with the command's name.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is not even a name.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns argument `nth`; number 0 is the command's name.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn arg(&self, nth: usize) -> &[u8] {
        let start = if nth == 0 { 0 } else { self.ends[nth - 1] };
        &self.bytes[start..self.ends[nth]]
    }

    /// Returns the arguments from number `from` on.
    pub fn args(&self, from: usize) -> impl ExactSizeIterator<Item = &[u8]> {
        (from..self.len().max(from)).map(|nth| self.arg(nth))
    }

    /// Returns the bytes of memory that the request takes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}

/// Parses a decimal number as Redis does: no sign but `-`, no leading zeros, no spaces.
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = match digits {
        [] => false,
        [b'0'] => digits.len() == text.len(),
        [first, ..] => *first != b'0' && digits.iter().all(u8::is_ascii_digit),
    };
    if !is_plain {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

impl Parser {
    /// Reads from `input` up to the end of a request. Returns the bytes that were used, all unless a request ends
    /// before, and the request. One without arguments stands for an empty line or array, which has no reply.
    ///
    /// # Errors
    /// [`ProtocolError`]: nothing more can be read from this client.
    pub fn read(
        &mut self,
        input: &[u8],
        limits: &RequestLimits,
    ) -> Result<(usize, Option<Request>), ProtocolError> {
        let mut used = 0;
        while used < input.len() {
            let rest = &input[used..];
            match self.state {
                State::Start => {
                    self.state = if rest[0] == b'*' { State::ArrayLength } else { State::Inline };
                    used += usize::from(rest[0] == b'*');
                }
                State::ArrayLength => {
                    let is_whole = self.take_line(rest, &mut used, ProtocolError::LongCount("mbulk"))?;
                    if !is_whole {
                        break;
                    }
                    let left = self.parse_line().ok_or(ProtocolError::ArrayLength)?;
                    if left > ARGUMENTS_MAX {
                        return Err(ProtocolError::ArrayLength);
                    }
                    if left > ARGUMENTS_MAX_BEFORE_AUTH && !limits.is_authenticated {
                        return Err(ProtocolError::ArrayBeforeAuth);
                    }
                    self.state = State::Argument { left };
                    if left <= 0 {
                        return Ok((used, Some(self.finish())));
                    }
                    self.request.bytes.reserve(NAME_AND_KEY_BYTES);
                }
                State::Inline => {
                    let is_whole = self.take_line(rest, &mut used, ProtocolError::LongLine)?;
                    if !is_whole {
                        break;
                    }
                    let line = std::mem::take(&mut self.line);
                    self.request = split_words(&line).ok_or(ProtocolError::Quotes)?;
                    return Ok((used, Some(self.finish())));
                }
                State::Argument { left } => {
                    if rest[0] != b'$' {
                        return Err(ProtocolError::NoBulk { got: rest[0] });
                    }
                    used += 1;
                    self.state = State::Length { left };
                }
                State::Length { left } => {
                    let is_whole = self.take_line(rest, &mut used, ProtocolError::LongCount("bulk"))?;
                    if !is_whole {
                        break;
                    }
                    let bytes = self.parse_line().filter(|&bytes| bytes >= 0);
                    let bytes = bytes.ok_or(ProtocolError::BulkLength)?;
                    if bytes > ARGUMENT_BYTES_MAX_BEFORE_AUTH && !limits.is_authenticated {
                        return Err(ProtocolError::BulkBeforeAuth);
                    }
                    let most_bytes = limits.request_bytes_max;
                    if bytes as u64 > most_bytes {
                        return Err(ProtocolError::BulkLength);
                    }
                    if self.request.bytes.len() as u64 + bytes as u64 > most_bytes {
                        return Err(ProtocolError::LongRequest { most_bytes });
                    }
                    // With the line end.
                    self.state = State::Bytes { left, bytes: bytes as usize + 2 };
                }
                State::Bytes { left, bytes } => {
                    let come = rest.len().min(bytes);
                    // The last two bytes of an argument are its line end, which Redis does not look at either.
                    let content = bytes.saturating_sub(2).min(come);
                    self.request.bytes.extend_from_slice(&rest[..content]);
                    used += come;
                    self.state = State::Bytes { left, bytes: bytes - come };
                    if bytes > come {
                        break;
                    }
                    self.request.ends.push(self.request.bytes.len());
                    self.state = State::Argument { left: left - 1 };
                    if left == 1 {
                        return Ok((used, Some(self.finish())));
                    }
                }
            }
        }
        Ok((used, None))
    }

    /// Returns the bytes of memory that the incomplete request takes.
    pub fn memory_bytes(&self) -> usize {
        self.line.capacity() + self.request.memory_bytes()
    }

    fn finish(&mut self) -> Request {
        self.state = State::Start;
        std::mem::take(&mut self.request)
    }

    /// Appends the bytes up to a line feed. Returns whether the line is whole; its end is removed.
    fn take_line(
        &mut self,
        rest: &[u8],
        used: &mut usize,
        too_long: ProtocolError,
    ) -> Result<bool, ProtocolError> {
        let end = rest.iter().position(|&byte| byte == b'\n');
        let come = end.map_or(rest.len(), |end| end + 1);
        if self.line.len() + come > LINE_BYTES_MAX {
            return Err(too_long);
        }
        self.line.extend_from_slice(&rest[..come]);
        *used += come;
        if end.is_some() {
            self.line.pop();
            self.line.pop_if(|byte| *byte == b'\r');
        }
        Ok(end.is_some())
    }

    fn parse_line(&mut self) -> Option<i64> {
        let number = parse_integer(&self.line);
        self.line.clear();
        number
    }
}

/// Splits an inline command into words. Quotes work as in Redis: `"a\x41\n"` has escapes, `'a'` only `\'`.
fn split_words(line: &[u8]) -> Option<Request> {
    let mut request = Request::default();
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(request);
        }
        rest = take_word(rest, &mut request.bytes)?;
        request.ends.push(request.bytes.len());
    }
}

/// Appends the next word. Returns what is behind it; `None` where a quote is not closed.
fn take_word<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return Some(rest),
            [space, ..] if space.is_ascii_whitespace() => return Some(rest),
            [quote @ (b'"' | b'\''), quoted @ ..] => {
                let behind = take_quoted(*quote, quoted, word)?;
                // A closing quote ends the word.
                return match behind {
                    [] => Some(behind),
                    [space, ..] if space.is_ascii_whitespace() => Some(behind),
                    _ => None,
                };
            }
            [byte, behind @ ..] => {
                word.push(*byte);
                rest = behind;
            }
        }
    }
}

fn take_quoted<'a>(quote: u8, mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    loop {
        rest = match rest {
            [] => return None,
            [byte, behind @ ..] if *byte == quote => return Some(behind),
            [b'\\', b'\'', behind @ ..] if quote == b'\'' => {
                word.push(b'\'');
                behind
            }
            [b'\\', b'x', high, low, behind @ ..]
                if quote == b'"' && digit(*high).and(digit(*low)).is_some() =>
            {
                word.push(digit(*high)? << 4 | digit(*low)?);
                behind
            }
            [b'\\', escaped, behind @ ..] if quote == b'"' => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                behind
            }
            [byte, behind @ ..] => {
                word.push(*byte);
                behind
            }
        };
    }
}

#[cfg(test)]
#[path = "protocol/tests.rs"]
mod tests;
