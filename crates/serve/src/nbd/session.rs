//! One client's connection: reads its bytes into commands, and writes the replies to these.
//!
//! [`Session::feed`] is a function of the bytes so far, however they are split. It answers options and malformed
//! commands itself; only commands that can be carried out leave it. Data that follows a refused write is skipped, so
//! that a client with a mistake keeps its connection: only bytes that are no request at all end it.
//!
//! Invariant: `part` is shorter than what `state` waits for, and empty while data of a write is read.

use super::negotiation::{ALLOCATION_ID, Choices, Next, answer_option, greet, read_flags, refuse_long};
use super::wire::{
    Fields, Header, OPTION_MAGIC, PAYLOAD_BYTES_MAX, ProtocolError, SIMPLE_REPLY_MAGIC,
    STRUCTURED_REPLY_MAGIC, chunk, command, flag,
};
use crate::command::{Action, Command, Error, Export, Extent};
use flashlane_device::Buffer;

/// Longest data of an option that is read; the text of the protocol allows names of 4 KiB.
const OPTION_BYTES_MAX: u32 = 64 << 10;
/// Bytes of an option before its data.
const OPTION_HEAD_BYTES: usize = 16;

/// What a client's bytes lead to.
#[derive(Debug)]
pub enum Event {
    /// A command.
    Command(Command),
    /// The client wants to disconnect, once its commands are carried out.
    Disconnect,
}

#[derive(Debug)]
enum State {
    Flags,
    OptionHead,
    OptionData {
        number: u32,
        length_bytes: u32,
    },
    Request,
    /// Data of a write, of which `filled` bytes have come.
    Data {
        command: Command,
        filled: usize,
    },
    /// Bytes of refused commands and options, then `after`.
    Skip {
        left: u64,
        is_option: bool,
    },
    Closed,
}

/// The connection of one client.
#[derive(Debug)]
pub struct Session {
    export: Export,
    choices: Choices,
    state: State,
    /// The beginning of what the state waits for.
    part: Vec<u8>,
}

impl Session {
    /// Begins a connection: the greeting is appended to `out`.
    pub fn new(export: Export, out: &mut Vec<u8>) -> Self {
        greet(out);
        Self { export, choices: Choices::default(), state: State::Flags, part: Vec::new() }
    }

    /// Returns whether the client has not chosen the export yet.
    pub fn is_negotiating(&self) -> bool {
        matches!(
            self.state,
            State::Flags | State::OptionHead | State::OptionData { .. } | State::Skip { is_option: true, .. }
        )
    }

    /// Returns whether the data of a write has come in part.
    pub fn is_within_data(&self) -> bool {
        matches!(self.state, State::Data { .. })
    }

    /// Returns the number of bytes that a write lacks whose data has come in part.
    pub fn missing_bytes(&self) -> u64 {
        match &self.state {
            State::Data { command, filled } => command.length_bytes - *filled as u64,
            _ => 0,
        }
    }

    /// Returns the memory of what has come in part.
    pub fn memory_bytes(&self) -> usize {
        let data = match &self.state {
            State::Data { command: Command { action: Action::Write(data), .. }, .. } => data.len(),
            _ => 0,
        };
        data + self.part.capacity()
    }

    /// Reads bytes until the first event. Returns the number of bytes used: all of them where there is no event.
    /// Appends replies to `out`.
    ///
    /// # Errors
    /// [`ProtocolError`] where the connection ends.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(usize, Option<Event>), ProtocolError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let event = match &mut self.state {
                State::Closed => {
                    rest = &[];
                    None
                }
                State::Skip { left, is_option } => {
                    let skipped = (*left).min(rest.len() as u64);
                    rest = &rest[skipped as usize..];
                    *left -= skipped;
                    if *left == 0 {
                        self.state = if *is_option { State::OptionHead } else { State::Request };
                    }
                    None
                }
                State::Data { command, filled } => {
                    let Action::Write(data) = &mut command.action else {
                        unreachable!("only writes have data")
                    };
                    let start = (command.offset_bytes % self.export.unit_bytes) as usize;
                    let length = command.length_bytes as usize;
                    let (now, later) = rest.split_at(rest.len().min(length - *filled));
                    data.as_mut_slice()[start + *filled..][..now.len()].copy_from_slice(now);
                    *filled += now.len();
                    rest = later;
                    if *filled == length { self.take_write() } else { None }
                }
                _ => self.read_part(&mut rest, out)?,
            };
            if event.is_some() {
                return Ok((bytes.len() - rest.len(), event));
            }
        }
        Ok((bytes.len(), None))
    }

    /// Returns the write whose data has come.
    fn take_write(&mut self) -> Option<Event> {
        match std::mem::replace(&mut self.state, State::Request) {
            State::Data { command, .. } => Some(Event::Command(command)),
            _ => unreachable!("the data of a write was read"),
        }
    }

    /// Takes from `rest` what the state waits for, and reads it; where not all has come, keeps the part.
    fn read_part(&mut self, rest: &mut &[u8], out: &mut Vec<u8>) -> Result<Option<Event>, ProtocolError> {
        let needed = match self.state {
            State::Flags => 4,
            State::OptionHead => OPTION_HEAD_BYTES,
            State::OptionData { length_bytes, .. } => length_bytes as usize,
            State::Request => Header::BYTES,
            State::Data { .. } | State::Skip { .. } | State::Closed => unreachable!("read elsewhere"),
        };
        assert!(self.part.len() < needed, "what is complete is taken");
        let (now, later) = rest.split_at(rest.len().min(needed - self.part.len()));
        *rest = later;
        if now.len() == needed {
            return self.read(now, out);
        }
        self.part.extend_from_slice(now);
        if self.part.len() < needed {
            return Ok(None);
        }
        let whole = std::mem::take(&mut self.part);
        self.read(&whole, out)
    }

    /// Reads what the state waited for.
    fn read(&mut self, whole: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>, ProtocolError> {
        let mut fields = Fields(whole);
        match self.state {
            State::Flags => {
                self.choices = read_flags(fields.u32().expect("it is whole"))?;
                self.state = State::OptionHead;
            }
            State::OptionHead => {
                let magic = fields.u64().expect("it is whole");
                if magic != OPTION_MAGIC {
                    return Err(ProtocolError::OptionMagic(magic));
                }
                let number = fields.u32().expect("it is whole");
                let length_bytes = fields.u32().expect("it is whole");
                if length_bytes > OPTION_BYTES_MAX {
                    refuse_long(number, out)?;
                    self.state = State::Skip { left: length_bytes.into(), is_option: true };
                } else if length_bytes > 0 {
                    self.state = State::OptionData { number, length_bytes };
                } else {
                    return self.option(number, &[], out);
                }
            }
            State::OptionData { number, .. } => return self.option(number, whole, out),
            State::Request => {
                let header = whole.try_into().expect("it is whole");
                let header = Header::read(header).ok_or(ProtocolError::RequestMagic)?;
                return Ok(self.request(&header, out));
            }
            State::Data { .. } | State::Skip { .. } | State::Closed => unreachable!("read elsewhere"),
        }
        Ok(None)
    }

    fn option(
        &mut self,
        number: u32,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event>, ProtocolError> {
        let next = answer_option(&self.export, &mut self.choices, number, data, out)?;
        self.state = match next {
            Next::Option => State::OptionHead,
            Next::Transmission => State::Request,
            Next::Close => State::Closed,
        };
        Ok((next == Next::Close).then_some(Event::Disconnect))
    }

    fn request(&mut self, header: &Header, out: &mut Vec<u8>) -> Option<Event> {
        if header.command == command::DISCONNECT {
            self.state = State::Closed;
            return Some(Event::Disconnect);
        }
        match self.check(header) {
            Ok(Command { action: Action::Write(_), .. }) => {
                let Header { cookie, offset_bytes, length_bytes, .. } = *header;
                let (_, whole_bytes) = self.export.whole_units(offset_bytes, length_bytes.into());
                let action = Action::Write(Buffer::zeroed(whole_bytes as usize));
                let durable = header.flags & flag::FUA != 0;
                let length_bytes = length_bytes.into();
                let command = Command { cookie, offset_bytes, length_bytes, durable, action };
                self.state = State::Data { command, filled: 0 };
                None
            }
            Ok(command) => Some(Event::Command(command)),
            Err((error, text)) => {
                self.reply_error(header.cookie, error, text, out);
                if header.command == command::WRITE && header.length_bytes > 0 {
                    self.state = State::Skip { left: header.length_bytes.into(), is_option: false };
                }
                None
            }
        }
    }

    /// Checks a request, and returns its command; that of a write without its data.
    fn check(&self, header: &Header) -> Result<Command, (Error, &'static str)> {
        let Header { flags, cookie, offset_bytes, length_bytes, .. } = *header;
        let has = |flag| flags & flag != 0;
        // Clients are known to set FUA on any command.
        let (action, allowed) = match header.command {
            command::READ => (Action::Read, if self.choices.is_structured { flag::DF } else { 0 }),
            command::WRITE => (Action::Write(Buffer::default()), 0),
            command::FLUSH => (Action::Flush, 0),
            command::TRIM => (Action::Trim, 0),
            command::WRITE_ZEROES => (
                Action::Zero { may_trim: !has(flag::NO_HOLE), is_fast: has(flag::FAST_ZERO) },
                flag::NO_HOLE | flag::FAST_ZERO,
            ),
            command::BLOCK_STATUS if self.choices.allocation_of.is_some() => {
                (Action::Status { is_one: has(flag::REQUEST_ONE) }, flag::REQUEST_ONE)
            }
            command::BLOCK_STATUS => {
                return Err((Error::Invalid, "the client has not chosen base:allocation"));
            }
            _ => return Err((Error::Invalid, "the server does not know the command")),
        };
        let changes = matches!(action, Action::Write(_) | Action::Trim | Action::Zero { .. });
        if flags & !(flag::FUA | allowed) != 0 {
            return Err((Error::Invalid, "the command does not have these flags"));
        }
        if changes && self.export.is_read_only {
            return Err((Error::Permission, "the export is read-only"));
        }
        if matches!(action, Action::Flush) {
            // Its range means nothing.
            return Ok(Command { cookie, offset_bytes: 0, length_bytes: 0, durable: false, action });
        }
        let is_inside =
            offset_bytes.checked_add(length_bytes.into()).is_some_and(|end| end <= self.export.size_bytes);
        if !is_inside {
            let error = match action {
                Action::Write(_) | Action::Zero { .. } => Error::NoSpace,
                _ => Error::Invalid,
            };
            return Err((error, "the command ends behind the export"));
        }
        if length_bytes == 0 {
            return Err((Error::Invalid, "the range is empty"));
        }
        if matches!(action, Action::Read | Action::Write(_)) && length_bytes > PAYLOAD_BYTES_MAX {
            return Err((Error::TooLong, "the server reads and writes at most 32 MiB at once"));
        }
        let (length_bytes, durable) = (length_bytes.into(), has(flag::FUA) && changes);
        Ok(Command { cookie, offset_bytes, length_bytes, durable, action })
    }

    /// Replies that a command other than a read or a status was carried out.
    pub fn reply_done(&self, cookie: u64, out: &mut Vec<u8>) {
        match self.choices.is_structured {
            true => head(chunk::NONE, cookie, 0, out),
            false => simple(0, cookie, out),
        }
    }

    /// Begins the reply to a read: `length_bytes` of data MUST follow.
    pub fn begin_read(&self, cookie: u64, offset_bytes: u64, length_bytes: u32, out: &mut Vec<u8>) {
        if self.choices.is_structured {
            head(chunk::OFFSET_DATA, cookie, 8 + length_bytes, out);
            out.extend(offset_bytes.to_be_bytes());
        } else {
            simple(0, cookie, out);
        }
    }

    /// Replies to a status.
    pub fn reply_status(&self, cookie: u64, extents: &[Extent], out: &mut Vec<u8>) {
        /// Reads as zeros, and is not allocated.
        const HOLE: u32 = 1 | 2;
        head(chunk::BLOCK_STATUS, cookie, 4 + 8 * extents.len() as u32, out);
        out.extend(ALLOCATION_ID.to_be_bytes());
        for extent in extents {
            out.extend(extent.length_bytes.to_be_bytes());
            out.extend((if extent.is_hole { HOLE } else { 0 }).to_be_bytes());
        }
    }

    /// Replies that a command failed; `text` says why to clients that can show it.
    pub fn reply_error(&self, cookie: u64, error: Error, text: &str, out: &mut Vec<u8>) {
        if !self.choices.is_structured {
            return simple(error.number(), cookie, out);
        }
        head(chunk::ERROR, cookie, 6 + text.len() as u32, out);
        out.extend(error.number().to_be_bytes());
        out.extend((text.len() as u16).to_be_bytes());
        out.extend_from_slice(text.as_bytes());
    }
}

fn simple(error: u32, cookie: u64, out: &mut Vec<u8>) {
    out.extend(SIMPLE_REPLY_MAGIC.to_be_bytes());
    out.extend(error.to_be_bytes());
    out.extend(cookie.to_be_bytes());
}

/// Writes the head of a structured reply, which has one chunk.
fn head(kind: u16, cookie: u64, length_bytes: u32, out: &mut Vec<u8>) {
    out.extend(STRUCTURED_REPLY_MAGIC.to_be_bytes());
    out.extend(chunk::DONE.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(cookie.to_be_bytes());
    out.extend(length_bytes.to_be_bytes());
}
