use super::*;

const LIMITS: RequestLimits = RequestLimits { request_bytes_max: 1 << 20, is_authenticated: true };

/// Reads all requests from parts of the input.
fn read_parts(parts: &[&[u8]], limits: &RequestLimits) -> Result<Vec<Vec<Vec<u8>>>, ProtocolError> {
    let (mut parser, mut found) = (Parser::default(), Vec::new());
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            let (used, request) = parser.read(rest, limits)?;
            assert!(used > 0, "the parser goes on");
            rest = &rest[used..];
            match request {
                Some(request) => found.push(request.args(0).map(<[u8]>::to_vec).collect()),
                None => assert!(rest.is_empty(), "bytes behind {used} are left and no request"),
            }
        }
    }
    Ok(found)
}

fn words(found: &[Vec<Vec<u8>>]) -> Vec<String> {
    let text = |request: &Vec<Vec<u8>>| {
        request.iter().map(|word| word.escape_ascii().to_string()).collect::<Vec<_>>().join("|")
    };
    found.iter().map(text).collect()
}

const INPUT: &[u8] = b"*3\r\n$3\r\nSET\r\n$2\r\n\r\n\r\n$0\r\n\r\n*0\r\n*-1\r\nGET  'a b' \"\\x41\\n\\\"\"\r\n\n*1\r\n$4\r\nPING\r\nQUIT\n";

#[test]
fn requests_do_not_depend_on_how_input_is_split() {
    let whole = read_parts(&[INPUT], &LIMITS).unwrap();
    assert_eq!(words(&whole), ["SET|\\r\\n|", "", "", "GET|a b|A\\n\\\"", "", "PING", "QUIT"]);
    for first in 0..=INPUT.len() {
        for second in first..=INPUT.len() {
            let parts = [&INPUT[..first], &INPUT[first..second], &INPUT[second..]];
            assert_eq!(read_parts(&parts, &LIMITS).unwrap(), whole, "split at {first} and {second}");
        }
    }
    let bytes: Vec<&[u8]> = INPUT.chunks(1).collect();
    assert_eq!(read_parts(&bytes, &LIMITS).unwrap(), whole);
}

#[test]
fn malformed_input_is_refused_as_by_redis() {
    let before_auth = RequestLimits { is_authenticated: false, ..LIMITS };
    let long = [b'a'; LINE_BYTES_MAX + 1];
    let digits = [&b"*"[..], &[b'1'; LINE_BYTES_MAX + 1]].concat();
    for (input, limits, error) in [
        (&b"*a\r\n"[..], LIMITS, "Protocol error: invalid multibulk length"),
        (b"*1048577\r\n", LIMITS, "Protocol error: invalid multibulk length"),
        (b"*9223372036854775808\r\n", LIMITS, "Protocol error: invalid multibulk length"),
        (b"*1\r\nGET\r\n", LIMITS, "Protocol error: expected '$', got 'G'"),
        (b"*1\r\n\0", LIMITS, "Protocol error: expected '$', got '\\u{0}'"),
        (b"*1\r\n$-1\r\n", LIMITS, "Protocol error: invalid bulk length"),
        (b"*1\r\n$99999999999\r\n", LIMITS, "Protocol error: invalid bulk length"),
        (b"*11\r\n", before_auth, "Protocol error: unauthenticated multibulk length"),
        (b"*1\r\n$16385\r\n", before_auth, "Protocol error: unauthenticated bulk length"),
        (b"GET \"a\r\n", LIMITS, "Protocol error: unbalanced quotes in request"),
        (b"GET \"a\"b\r\n", LIMITS, "Protocol error: unbalanced quotes in request"),
        (&long, LIMITS, "Protocol error: too big inline request"),
        (&digits, LIMITS, "Protocol error: too big mbulk count string"),
    ] {
        let refused = read_parts(&[input], &limits).map_err(|error| error.to_string());
        assert_eq!(refused, Err(error.into()), "{}", input[..input.len().min(30)].escape_ascii());
    }
    let two = [&b"*2\r\n$1048576\r\n"[..], &vec![0; 1 << 20], b"\r\n$1\r\n"].concat();
    let refused = read_parts(&[&two], &LIMITS).unwrap_err();
    assert_eq!(refused.to_string(), "Protocol error: the request exceeds 1 MiB");
}

#[test]
fn announced_lengths_take_no_memory() {
    let mut parser = Parser::default();
    for _ in 0..100 {
        let limits = RequestLimits { request_bytes_max: 1 << 40, ..LIMITS };
        parser.read(b"*1048576\r\n$1099511627776\r\nabc", &limits).unwrap();
        assert!(parser.memory_bytes() < 1 << 10, "{}", parser.memory_bytes());
        parser = Parser::default();
    }
}

#[test]
fn integers_are_those_of_redis() {
    for (text, number) in [
        ("0", Some(0)),
        ("-1", Some(-1)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("", None),
        ("-", None),
        ("-0", None),
        ("01", None),
        ("+1", None),
        (" 1", None),
        ("1 ", None),
        ("1.0", None),
    ] {
        assert_eq!(parse_integer(text.as_bytes()), number, "{text:?}");
    }
}
