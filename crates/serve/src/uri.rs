//! Where clients find the device: URIs, as libnbd, qemu and fio read them.

use flashlane_host::Address;
use std::os::unix::ffi::OsStrExt;

/// Returns the URI of the export at an address.
pub fn uri(address: &Address) -> String {
    match address {
        Address::Tcp(address) => format!("nbd://{address}"),
        Address::Unix(path) => {
            let mut uri = "nbd+unix:///?socket=".to_owned();
            for &byte in path.as_os_str().as_bytes() {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                        uri.push(byte.into());
                    }
                    byte => uri += &format!("%{byte:02X}"),
                }
            }
            uri
        }
    }
}

/// Returns commands that reach the export, one a line.
pub fn how_to_connect(address: &Address) -> String {
    let uri = uri(address);
    format!(
        "  nbdinfo '{uri}'\n  fio --name=reads --ioengine=nbd --uri='{uri}' --rw=randread --bs=4k --iodepth=32 \
         --runtime=10 --time_based\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uri_escapes_what_ends_a_path() {
        assert_eq!(uri(&Address::Unix("./a b&c?.sock".into())), "nbd+unix:///?socket=./a%20b%26c%3F.sock");
        assert_eq!(uri(&Address::Tcp("127.0.0.1:10809".parse().unwrap())), "nbd://127.0.0.1:10809");
        assert!(how_to_connect(&Address::Tcp("[::1]:7".parse().unwrap())).contains("--uri='nbd://[::1]:7'"));
    }
}
