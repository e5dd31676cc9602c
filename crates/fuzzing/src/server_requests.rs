//! Requests of Redis clients: the first byte chooses limits and parts.

use crate::Target;
use flashlane_store_server::{Parser, ProtocolError, Request, RequestLimits};

pub(crate) const TARGET: Target = Target {
    name: "server_requests",
    body,
    seeds: &[
        "a*3\r\n$3\r\nSET\r\n$2\r\n\r\n\r\n$0\r\n\r\n*0\r\n*-1\r\nPING\r\n",
        "bGET  'a b' \"\\x41\\n\\\"\"\r\n\n*1\r\n$4\r\nPING\r\nQUIT\n",
        "c*1048576\r\n$1099511627776\r\nabc",
        "d*2\r\n$4\r\nECHO\r\n$20\r\n01234567890123456789\r\n",
    ],
};

/// Reads all requests from parts of `part` bytes.
fn read(data: &[u8], part: usize, limits: &RequestLimits) -> (Vec<Request>, Option<ProtocolError>) {
    let (mut parser, mut found) = (Parser::default(), Vec::new());
    for bytes in data.chunks(part) {
        let mut rest = bytes;
        while !rest.is_empty() {
            match parser.read(rest, limits) {
                Err(error) => return (found, Some(error)),
                Ok((used, request)) => {
                    assert!(used > 0 && (request.is_some() || used == rest.len()), "{used} bytes were used");
                    rest = &rest[used..];
                    found.extend(request);
                }
            }
        }
        // Twice what has come, for each vector's spare room.
        assert!(parser.memory_bytes() <= 4 * data.len() + 256, "{} bytes", parser.memory_bytes());
    }
    (found, None)
}

fn body(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let limits = RequestLimits {
        request_bytes_max: [10, 100, 1 << 20, 1 << 40][usize::from(first & 3)],
        is_authenticated: first & 4 == 0,
    };
    let whole = read(data, data.len().max(1), &limits);
    let parts = read(data, 1 + usize::from(first >> 3), &limits);
    assert_eq!(whole, parts, "requests depend on how they are split");
    for request in &whole.0 {
        let words: Vec<&[u8]> = request.args(0).collect();
        let mut written = format!("*{}\r\n", words.len()).into_bytes();
        for word in &words {
            written.extend(format!("${}\r\n", word.len()).bytes());
            written.extend_from_slice(word);
            written.extend(b"\r\n");
        }
        let open = RequestLimits { request_bytes_max: 1 << 40, is_authenticated: true };
        let (again, error) = read(&written, written.len(), &open);
        assert_eq!((again, error), (vec![request.clone()], None));
    }
}
