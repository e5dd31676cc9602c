//! Headers, transactions and totals as bytes. `decode` is the inverse.

use super::varint::{fold, put};
use super::{Header, RecordedAccess, Totals, Transaction};
use flashlane_base::Instant;

/// Differences of page numbers, folded, up to this are written as differences, in one byte: next pages, and pages that
/// are accessed again. All others are written as they are: a page that is accessed often, as the root of an index,
/// then has the same bytes each time, which compressors find.
pub(super) const NEAR_MOST: u64 = 31;
/// In the number of an access: the page is changed.
pub(super) const WRITE: u64 = 1;
/// In the number of an access: the page is a difference.
pub(super) const NEAR: u64 = 2;
/// Bits of an access's number beside the page.
pub(super) const ACCESS_BITS: u32 = 2;

pub(super) fn header(header: &Header, out: &mut Vec<u8>) {
    put(out, u64::from(header.page_bytes));
    put(out, u64::from(header.pages));
    put(out, u64::from(header.clients));
    text(&header.source, out);
    put(out, header.kinds.len() as u64);
    header.kinds.iter().for_each(|kind| text(kind, out));
    put(out, header.relations.len() as u64);
    for relation in &header.relations {
        text(&relation.name, out);
        put(out, u64::from(relation.first_page));
        put(out, u64::from(relation.pages));
    }
}

fn text(text: &str, out: &mut Vec<u8>) {
    put(out, text.len() as u64);
    out.extend(text.as_bytes());
}

/// Appends a transaction. `before` is the start of the one before it in its part; zero for the first.
pub(super) fn transaction(transaction: &Transaction, before: Instant, out: &mut Vec<u8>) {
    put(out, u64::from(transaction.session));
    put(out, u64::from(transaction.kind));
    put(out, fold(transaction.start.as_ns().wrapping_sub(before.as_ns()) as i64));
    put(out, transaction.cpu.as_ns());
    put(out, transaction.accesses.len() as u64);
    let mut last = 0;
    for access in &transaction.accesses {
        put(out, number(*access, last));
        last = access.page();
    }
}

#[inline]
fn number(access: RecordedAccess, last: u32) -> u64 {
    let page = access.page();
    let difference = fold(i64::from(page) - i64::from(last));
    let write = u64::from(access.is_write());
    if difference <= NEAR_MOST {
        difference << ACCESS_BITS | NEAR | write
    } else {
        u64::from(page) << ACCESS_BITS | write
    }
}

pub(super) fn totals(totals: &Totals, out: &mut Vec<u8>) {
    put(out, totals.transactions);
    put(out, totals.accesses);
    put(out, totals.left_out.aborted);
    put(out, totals.left_out.cut);
}
