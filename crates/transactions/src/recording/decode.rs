//! Headers, transactions and totals from bytes. `encode` is the inverse.

use super::encode::{ACCESS_BITS, NEAR, WRITE};
use super::varint::{take, unfold};
use super::{
    Header, KINDS_MOST, LeftOut, RELATIONS_MOST, RecordedAccess, Refused, Relation, TEXT_BYTES_MOST, Totals,
    Transaction, check_accesses, range,
};
use flashlane_base::{Duration, Instant};

/// A fault of a part's content.
#[derive(Debug)]
pub(super) enum Fault {
    /// It ends within a number or a text, or after one there is more.
    Damage(&'static str),
    /// A field is out of range.
    Field(Refused),
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Self {
        Self::Field(refused)
    }
}

const CUT: Fault = Fault::Damage("ends within a number or a text");

fn next(bytes: &mut &[u8]) -> Result<u64, Fault> {
    take(bytes).ok_or(CUT)
}

/// Takes a number for a field of a narrower type.
fn narrow<T: TryFrom<u64> + Into<u64> + Copy>(bytes: &mut &[u8], field: &str, most: T) -> Result<T, Fault> {
    let given = next(bytes)?;
    range(field, given, 0, most.into())?;
    Ok(T::try_from(given).ok().expect("the number was checked to be in the type's range"))
}

pub(super) fn header(mut bytes: &[u8]) -> Result<Header, Fault> {
    let bytes = &mut bytes;
    let mut header = Header {
        page_bytes: narrow(bytes, "the page size", u32::MAX)?,
        pages: narrow(bytes, "the number of pages of the database", u32::MAX)?,
        clients: narrow(bytes, "the number of clients", u16::MAX)?,
        source: text(bytes)?,
        ..Header::default()
    };
    for _ in 0..narrow(bytes, "the number of kinds of transactions", KINDS_MOST as u64)? {
        header.kinds.push(text(bytes)?);
    }
    for _ in 0..narrow(bytes, "the number of relations", RELATIONS_MOST as u64)? {
        header.relations.push(Relation {
            name: text(bytes)?,
            first_page: narrow(bytes, "the first page of a relation", u32::MAX)?,
            pages: narrow(bytes, "the number of pages of a relation", u32::MAX)?,
        });
    }
    end(bytes)?;
    header.check()?;
    Ok(header)
}

fn text(bytes: &mut &[u8]) -> Result<String, Fault> {
    let length = narrow(bytes, "the length of a text", TEXT_BYTES_MOST as u64)?;
    let (text, rest) = bytes.split_at_checked(length as usize).ok_or(CUT)?;
    *bytes = rest;
    let text = str::from_utf8(text).map_err(|_| Fault::Damage("has a text that is not UTF-8"))?;
    Ok(text.into())
}

fn end(bytes: &[u8]) -> Result<(), Fault> {
    if bytes.is_empty() { Ok(()) } else { Err(Fault::Damage("is longer than its content")) }
}

/// Takes a transaction from the front of `bytes`. `before` is the start of the one before it in its part; zero for the
/// first.
pub(super) fn transaction(
    bytes: &mut &[u8],
    before: Instant,
    header: &Header,
    into: &mut Transaction,
) -> Result<(), Fault> {
    into.session = narrow(bytes, "the session of the transaction", u16::MAX)?;
    let kind = next(bytes)?;
    header.check_kind(kind)?;
    into.kind = kind as u16;
    into.start = Instant::from_ns(before.as_ns().wrapping_add(unfold(next(bytes)?) as u64));
    into.cpu = Duration::from_ns(next(bytes)?);
    let number = next(bytes)?;
    check_accesses(number)?;
    into.accesses.clear();
    let mut last = 0_u64;
    for _ in 0..number {
        let access = next(bytes)?;
        let rest = access >> ACCESS_BITS;
        let page = if access & NEAR == 0 { rest } else { last.wrapping_add(unfold(rest) as u64) };
        header.check_page(page)?;
        let page_number = page as u32;
        into.accesses.push(if access & WRITE == 0 {
            RecordedAccess::read(page_number)
        } else {
            RecordedAccess::write(page_number)
        });
        last = page;
    }
    Ok(())
}

pub(super) fn totals(mut bytes: &[u8]) -> Result<Totals, Fault> {
    let bytes = &mut bytes;
    let (transactions, accesses) = (next(bytes)?, next(bytes)?);
    let left_out = LeftOut { aborted: next(bytes)?, cut: next(bytes)? };
    end(bytes)?;
    Ok(Totals { transactions, accesses, left_out })
}
