//! A client in memory: its bytes go to an engine, and the engine's to it.

use super::*;
use flashlane_base::Seed;
use flashlane_device::NullDevice;
use flashlane_device_testing::{MemoryDisk, MemoryFaults};
use flashlane_layer::Backed;
use std::collections::VecDeque;

pub const INFO: u32 = 6;
pub const GO: u32 = 7;

const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const REQUEST: u32 = 0x2560_9513;
const SIMPLE: u32 = 0x6744_6698;
const STRUCTURED: u32 = 0x668e_33ef;

/// A device of 1 MiB that does no work.
pub fn null() -> Engine<Backed<NullDevice>> {
    let options = Options { data_bytes: Some(1 << 20), ..Options::default() };
    Engine::new(Backed::new(NullDevice::new(1 << 20)), options)
}

/// A simulated drive with some settings.
pub fn sim(settings: &str) -> Engine<Box<dyn DataDevice>> {
    let opened = flashlane_open::OpenOptions::new().open_data(&*format!("sim:ssd-s,{settings}")).unwrap();
    Engine::new(opened.device, Options { data_bytes: Some(1 << 30), ..Options::default() })
}

/// A disk of 1 MiB with a volatile cache, and without trims.
pub fn disk(faults: MemoryFaults) -> Engine<MemoryDisk> {
    Engine::new(MemoryDisk::new(1 << 20, 512, Seed(1)).with_faults(faults), Options::default())
}

pub fn request(flags: u16, command: u16, cookie: u64, offset: u64, length: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = REQUEST.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend_from_slice(data);
    bytes
}

#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    Simple { error: u32, cookie: u64 },
    Chunk { kind: u16, cookie: u64, data: Vec<u8> },
}

pub struct Client<D: DataDevice> {
    engine: Engine<D>,
    id: ClientId,
    others: Vec<ClientId>,
    input: VecDeque<u8>,
}

impl<D: DataDevice> Client<D> {
    fn new(mut engine: Engine<D>, others: Vec<ClientId>) -> Self {
        let id = engine.connect().unwrap();
        let mut client = Self { engine, id, others, input: VecDeque::new() };
        assert_eq!(client.take(18), b"NBDMAGICIHAVEOPT\0\x03");
        client
    }

    /// Connects with flags.
    pub fn with_flags(engine: Engine<D>, flags: u32) -> Self {
        let mut client = Self::new(engine, Vec::new());
        client.feed(&flags.to_be_bytes());
        client
    }

    /// Connects, and is about to negotiate.
    pub fn greeted(engine: Engine<D>) -> Self {
        Self::with_flags(engine, 3)
    }

    /// Connects and chooses the export.
    pub fn open(engine: Engine<D>) -> Self {
        Self::greeted(engine).gone()
    }

    fn gone(mut self) -> Self {
        assert_eq!(self.option(GO, &info(b"", &[])).last().unwrap().0, ACK);
        self
    }

    /// Another client of the same server, which has chosen the export.
    pub fn another(self) -> Self {
        let mut client = self.raw();
        client.feed(&3_u32.to_be_bytes());
        client.gone()
    }

    /// Another client of the same server, which has sent nothing.
    pub fn raw(self) -> Self {
        let others = [self.others, vec![self.id]].concat();
        Self::new(self.engine, others)
    }

    /// The client before this one.
    pub fn back(self) -> Self {
        let mut others = self.others;
        let id = others.pop().unwrap();
        Self { engine: self.engine, id, others, input: VecDeque::new() }
    }

    pub fn cut_power(&mut self) {
        self.engine.served_mut().cut_power();
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_closed() {
            let used = self.engine.feed(self.id, rest);
            rest = &rest[used..];
            if !rest.is_empty() {
                self.pump();
            }
        }
    }

    fn pump(&mut self) {
        self.engine.step(Instant::FAR);
        while let Some(output) = self.engine.output(self.id).filter(|output| !output.is_empty()) {
            let bytes = output.len();
            self.input.extend(output);
            self.engine.take(self.id, bytes);
        }
    }

    pub fn is_closed(&mut self) -> bool {
        self.pump();
        self.engine.output(self.id).is_none()
    }

    /// All that has come.
    pub fn received(&mut self) -> Vec<u8> {
        self.pump();
        self.input.drain(..).collect()
    }

    pub fn take(&mut self, length: usize) -> Vec<u8> {
        for _ in 0..100_000 {
            if self.input.len() >= length {
                break;
            }
            self.pump();
        }
        assert!(self.input.len() >= length, "{} of {length} bytes came", self.input.len());
        self.input.drain(..length).collect()
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take(8).try_into().unwrap())
    }

    pub fn send_option(&mut self, number: u32, data: &[u8]) {
        let mut bytes = b"IHAVEOPT".to_vec();
        bytes.extend(number.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend_from_slice(data);
        self.feed(&bytes);
    }

    /// Sends an option, and returns its replies: kinds and data, up to ACK or an error.
    pub fn option(&mut self, number: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.send_option(number, data);
        let mut replies = Vec::new();
        loop {
            assert_eq!((self.u64(), self.u32()), (OPTION_REPLY, number));
            let (kind, length) = (self.u32(), self.u32());
            replies.push((kind, self.take(length as usize)));
            if kind == ACK || kind >> 31 == 1 {
                return replies;
            }
        }
    }

    pub fn send(&mut self, flags: u16, command: u16, cookie: u64, offset: u64, length: u32, data: &[u8]) {
        self.feed(&request(flags, command, cookie, offset, length, data));
    }

    /// Receives a reply, without the data of a simple one.
    pub fn receive(&mut self) -> Reply {
        match self.u32() {
            SIMPLE => Reply::Simple { error: self.u32(), cookie: self.u64() },
            STRUCTURED => {
                assert_eq!(self.u16(), 1, "the one chunk of the reply");
                let (kind, cookie) = (self.u16(), self.u64());
                let length = self.u32();
                Reply::Chunk { kind, cookie, data: self.take(length as usize) }
            }
            magic => panic!("a reply begins with {magic:#x}"),
        }
    }

    /// Sends a command, and returns the data of its reply, or its error.
    pub fn call(
        &mut self,
        flags: u16,
        command: u16,
        offset: u64,
        length: u32,
        data: &[u8],
    ) -> Result<Vec<u8>, u32> {
        let cookie = offset ^ 0x55;
        self.send(flags, command, cookie, offset, length, data);
        match self.receive() {
            Reply::Simple { error: 0, cookie: of } if command == READ => {
                assert_eq!(of, cookie);
                Ok(self.take(length as usize))
            }
            Reply::Simple { error: 0, cookie: of } => {
                assert_eq!(of, cookie);
                Ok(Vec::new())
            }
            Reply::Simple { error, .. } => Err(error),
            Reply::Chunk { kind: 0x8001, data, .. } => Err(u32::from_be_bytes(data[..4].try_into().unwrap())),
            Reply::Chunk { kind: 1, data, .. } => Ok(data[8..].to_vec()),
            Reply::Chunk { data, .. } => Ok(data),
        }
    }

    pub fn read(&mut self, offset: u64, length: u32) -> Result<Vec<u8>, u32> {
        self.call(0, READ, offset, length, &[])
    }

    pub fn write(&mut self, offset: u64, data: &[u8], flags: u16) -> Result<(), u32> {
        self.call(flags, WRITE, offset, data.len() as u32, data).map(|_| ())
    }
}
