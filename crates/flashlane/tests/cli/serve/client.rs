//! A small client, which prints replies as text.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const TIMEOUT: Option<Duration> = Some(Duration::from_secs(60));

pub struct Client {
    reader: BufReader<Box<dyn Read>>,
    writer: Box<dyn Write>,
}

impl Client {
    pub fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(TIMEOUT).unwrap();
        let reader: Box<dyn Read> = Box::new(stream.try_clone().unwrap());
        Self { reader: BufReader::new(reader), writer: Box::new(stream) }
    }

    pub fn connect_unix(path: &Path) -> Self {
        let stream = UnixStream::connect(path).expect("the server listens");
        stream.set_read_timeout(TIMEOUT).unwrap();
        let reader: Box<dyn Read> = Box::new(stream.try_clone().unwrap());
        Self { reader: BufReader::new(reader), writer: Box::new(stream) }
    }

    /// Sends an inline command. The server may have gone.
    pub fn send_line(&mut self, line: &str) {
        let _ = self.writer.write_all(format!("{line}\r\n").as_bytes());
    }

    /// Sends a command as an array.
    pub fn send(&mut self, words: &[Vec<u8>]) {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n", word.len()).as_bytes());
            bytes.extend_from_slice(word);
            bytes.extend(b"\r\n");
        }
        self.writer.write_all(&bytes).expect("the server reads");
    }

    pub fn call(&mut self, line: &str) -> String {
        self.send_line(line);
        self.read()
    }

    /// Reads a reply: `+OK`, `-ERR …`, `:1`, `$text`, `_` for none, `[a, b]` for an array. Numbers of a length are left
    /// out.
    pub fn read(&mut self) -> String {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line).expect("the server replies");
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        let Some(kind) = line.chars().next() else { return "closed".into() };
        let number = || line[1..].parse::<i64>().expect("a number");
        match kind {
            '$' | '=' if number() >= 0 => {
                let mut bytes = vec![0; number() as usize + 2];
                self.reader.read_exact(&mut bytes).expect("the reply is whole");
                format!("${}", bytes[..bytes.len() - 2].escape_ascii())
            }
            '*' | '~' if number() >= 0 => self.read_many(number()),
            '%' => self.read_many(2 * number()),
            '$' | '*' | '_' => "_".into(),
            _ => line,
        }
    }

    fn read_many(&mut self, count: i64) -> String {
        let replies: Vec<String> = (0..count).map(|_| self.read()).collect();
        format!("[{}]", replies.join(", "))
    }
}
