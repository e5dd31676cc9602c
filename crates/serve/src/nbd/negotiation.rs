//! Answers to the options of a client, until it chooses the export.

use super::wire::{
    FIXED_NEWSTYLE, Fields, INIT_MAGIC, NO_ZEROES, OPTION_MAGIC, OPTION_REPLY_MAGIC, PAYLOAD_BYTES_MAX,
    ProtocolError, answer, info, option, transmission,
};
use crate::command::Export;

/// Name of the one context: which bytes were written.
const ALLOCATION: &[u8] = b"base:allocation";
/// Its number for clients.
pub(super) const ALLOCATION_ID: u32 = 1;
/// Preferred size of requests, unless the device's unit is longer.
const PREFERRED_BYTES: u32 = 4096;
/// Largest smallest block that the protocol allows.
const MINIMUM_BYTES_MAX: u64 = 64 << 10;

/// The choices of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    /// Structured replies.
    pub is_structured: bool,
    /// The export for which the client chose `base:allocation`.
    pub allocation_of: Option<Vec<u8>>,
    /// No zeros after the answer to EXPORT_NAME.
    pub no_zeroes: bool,
}

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another option.
    Option,
    /// Requests.
    Transmission,
    /// The end of the connection.
    Close,
}

/// Writes the greeting of the server.
pub(super) fn greet(out: &mut Vec<u8>) {
    out.extend(INIT_MAGIC.to_be_bytes());
    out.extend(OPTION_MAGIC.to_be_bytes());
    out.extend((FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
}

/// Reads the client's flags, which follow the greeting.
pub(super) fn read_flags(flags: u32) -> Result<Choices, ProtocolError> {
    let known = u32::from(FIXED_NEWSTYLE | NO_ZEROES);
    if flags & !known != 0 {
        return Err(ProtocolError::ClientFlags(flags));
    }
    Ok(Choices { no_zeroes: flags & u32::from(NO_ZEROES) != 0, ..Choices::default() })
}

/// Refuses an option whose data is too long to be read.
pub(super) fn refuse_long(number: u32, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
    if number == option::EXPORT_NAME {
        // This option has no answer that refuses.
        return Err(ProtocolError::ExportName);
    }
    refuse(out, number, answer::TOO_BIG, "the data of the option is too long");
    Ok(())
}

/// Answers an option.
pub(super) fn answer_option(
    export: &Export,
    choices: &mut Choices,
    number: u32,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<Next, ProtocolError> {
    match number {
        option::EXPORT_NAME => {
            if !export.is_named(data) {
                return Err(ProtocolError::ExportName);
            }
            forget_other_context(choices, data);
            out.extend(export.size_bytes.to_be_bytes());
            out.extend(flags(export, choices).to_be_bytes());
            if !choices.no_zeroes {
                out.extend([0; 124]);
            }
            return Ok(Next::Transmission);
        }
        option::ABORT => {
            reply(out, number, answer::ACK, &[]);
            return Ok(Next::Close);
        }
        option::LIST | option::STRUCTURED_REPLY if !data.is_empty() => {
            refuse(out, number, answer::INVALID, "the option has no data");
        }
        option::LIST => {
            let name = Export::NAME.as_bytes();
            let mut server = (name.len() as u32).to_be_bytes().to_vec();
            server.extend_from_slice(name);
            server.extend_from_slice(export.description.as_bytes());
            reply(out, number, answer::SERVER, &server);
            reply(out, number, answer::ACK, &[]);
        }
        option::STRUCTURED_REPLY => {
            choices.is_structured = true;
            reply(out, number, answer::ACK, &[]);
        }
        option::INFO | option::GO => {
            let Some((name, wanted)) = read_info(data) else {
                refuse(out, number, answer::INVALID, "the data of the option is malformed");
                return Ok(Next::Option);
            };
            if !export.is_named(name) {
                refuse_name(out, number);
                return Ok(Next::Option);
            }
            if number == option::GO {
                forget_other_context(choices, name);
            }
            write_info(export, choices, number, &wanted, out);
            if number == option::GO {
                return Ok(Next::Transmission);
            }
        }
        option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
            answer_contexts(export, choices, number, data, out);
        }
        _ => refuse(out, number, answer::UNSUPPORTED, "the server does not know the option"),
    }
    Ok(Next::Option)
}

/// A context that was chosen for another name does not hold.
fn forget_other_context(choices: &mut Choices, name: &[u8]) {
    choices.allocation_of.take_if(|chosen| chosen != name);
}

/// Reads the name of the export, and the kinds of information that the client asks for.
fn read_info(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let mut fields = Fields(data);
    let name = fields.string()?;
    let count = fields.u16()?;
    let wanted = (0..count).map(|_| fields.u16()).collect::<Option<Vec<u16>>>()?;
    fields.0.is_empty().then_some((name, wanted))
}

fn write_info(export: &Export, choices: &Choices, number: u32, wanted: &[u16], out: &mut Vec<u8>) {
    let mut one = |kind: u16, data: &[&[u8]]| {
        let mut whole = kind.to_be_bytes().to_vec();
        data.iter().for_each(|part| whole.extend_from_slice(part));
        reply(out, number, answer::INFO, &whole);
    };
    one(info::EXPORT, &[&export.size_bytes.to_be_bytes(), &flags(export, choices).to_be_bytes()]);
    if wanted.contains(&info::NAME) {
        one(info::NAME, &[Export::NAME.as_bytes()]);
    }
    if wanted.contains(&info::DESCRIPTION) {
        one(info::DESCRIPTION, &[export.description.as_bytes()]);
    }
    if wanted.contains(&info::BLOCK_SIZE) {
        let minimum = export.unit_bytes.clamp(1, MINIMUM_BYTES_MAX) as u32;
        let preferred = minimum.max(PREFERRED_BYTES);
        let sizes = [minimum, preferred, PAYLOAD_BYTES_MAX].map(u32::to_be_bytes);
        one(info::BLOCK_SIZE, &[&sizes.concat()]);
    }
    reply(out, number, answer::ACK, &[]);
}

fn answer_contexts(export: &Export, choices: &mut Choices, number: u32, data: &[u8], out: &mut Vec<u8>) {
    let is_set = number == option::SET_META_CONTEXT;
    if is_set {
        choices.allocation_of = None;
    }
    if !choices.is_structured {
        return refuse(out, number, answer::INVALID, "contexts require structured replies");
    }
    let Some((name, queries)) = read_queries(data) else {
        return refuse(out, number, answer::INVALID, "the data of the option is malformed");
    };
    if !export.is_named(name) {
        return refuse_name(out, number);
    }
    // A list without queries asks for all contexts, and one for "base:" for those of that kind.
    let lists = !is_set && (queries.is_empty() || queries.contains(&&b"base:"[..]));
    if lists || queries.contains(&ALLOCATION) {
        let id = if is_set { ALLOCATION_ID } else { 0 };
        reply(out, number, answer::META_CONTEXT, &[&id.to_be_bytes(), ALLOCATION].concat());
        if is_set {
            choices.allocation_of = Some(name.to_vec());
        }
    }
    reply(out, number, answer::ACK, &[]);
}

/// Reads the name of the export, and the contexts that the client asks for.
fn read_queries(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut fields = Fields(data);
    let name = fields.string()?;
    let count = fields.u32()?;
    let mut queries = Vec::new();
    for _ in 0..count {
        queries.push(fields.string()?);
    }
    fields.0.is_empty().then_some((name, queries))
}

/// Returns the transmission flags.
fn flags(export: &Export, choices: &Choices) -> u16 {
    use transmission::*;
    let always = HAS_FLAGS | SEND_FLUSH | CAN_MULTI_CONN | if choices.is_structured { SEND_DF } else { 0 };
    always
        | match export.is_read_only {
            true => READ_ONLY,
            false => SEND_FUA | SEND_TRIM | SEND_WRITE_ZEROES | SEND_FAST_ZERO,
        }
}

fn refuse_name(out: &mut Vec<u8>, number: u32) {
    let text = format!("the server has one export, '{}', which is also the default one", Export::NAME);
    refuse(out, number, answer::UNKNOWN, &text);
}

fn refuse(out: &mut Vec<u8>, number: u32, error: u32, text: &str) {
    reply(out, number, error, text.as_bytes());
}

fn reply(out: &mut Vec<u8>, number: u32, kind: u32, data: &[u8]) {
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(number.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend_from_slice(data);
}
