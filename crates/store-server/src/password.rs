//! The password: compared in a time that tells nothing of it, and as HTTP carries it (RFC 7617).

/// The only user.
pub const USER: &[u8] = b"default";

/// Returns whether both are the same, in a time that does not depend on where they differ.
pub fn is_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// Returns the credentials of HTTP's scheme `Basic`.
pub fn basic_credentials(password: &[u8]) -> Vec<u8> {
    base64(&[USER, b":", password].concat())
}

/// Encodes bytes as base64 (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let of = |nth: usize| u32::from(chunk.get(nth).copied().unwrap_or(0));
        let bits = of(0) << 16 | of(1) << 8 | of(2);
        for digit in 0..4 {
            let is_padding = digit > chunk.len();
            out.push(if is_padding { b'=' } else { DIGITS[(bits >> (18 - 6 * digit)) as usize & 63] });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_the_test_vectors_of_the_rfc() {
        for (bytes, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), encoded.as_bytes());
        }
        assert_eq!(basic_credentials(b"secret"), b"ZGVmYXVsdDpzZWNyZXQ=");
    }
}
