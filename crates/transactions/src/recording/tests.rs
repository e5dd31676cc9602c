//! Recordings are read back equal, and what cannot be is refused with the field.

use super::*;
use crate::{Repeated, Source};
use proptest::prelude::*;

fn header() -> Header {
    Header {
        page_bytes: 8192,
        pages: 1000,
        clients: 10,
        source: "PostgreSQL 15.20, pgbench".into(),
        kinds: vec!["payment".into(), "new-order".into()],
        relations: vec![
            Relation { name: "stock".into(), first_page: 0, pages: 600 },
            Relation { name: "stock_pkey".into(), first_page: 700, pages: 300 },
        ],
    }
}

fn transaction(accesses: &[RecordedAccess]) -> Transaction {
    let accesses = accesses.to_vec();
    Transaction { session: 3, kind: 1, start: Instant::from_ns(7), cpu: Duration::from_us(90), accesses }
}

fn written(header: Header, transactions: &[Transaction], left_out: LeftOut) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), header).unwrap();
    transactions.iter().for_each(|transaction| writer.push(transaction).unwrap());
    writer.finish(left_out).unwrap().0
}

fn read(bytes: &[u8]) -> (Vec<Transaction>, Result<Totals, ReadError>) {
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let mut transactions = Vec::new();
    let mut into = Transaction::default();
    loop {
        match reader.read(&mut into) {
            Ok(true) => transactions.push(into.clone()),
            Ok(false) => return (transactions, Ok(reader.totals().expect("the end has the totals"))),
            Err(error) => return (transactions, Err(error)),
        }
    }
}

fn access() -> impl Strategy<Value = RecordedAccess> {
    let page = prop_oneof![0_u32..40, 0_u32..1000, Just(999)];
    (page, any::<bool>()).prop_map(|(page, write)| {
        if write { RecordedAccess::write(page) } else { RecordedAccess::read(page) }
    })
}

fn any_transaction() -> impl Strategy<Value = Transaction> {
    let accesses = proptest::collection::vec(access(), 1..300);
    (any::<u16>(), 0_u16..2, any::<u64>(), any::<u64>(), accesses).prop_map(
        |(session, kind, start, cpu, accesses)| {
            let (start, cpu) = (Instant::from_ns(start), Duration::from_ns(cpu));
            Transaction { session, kind, start, cpu, accesses }
        },
    )
}

proptest! {
    // Each case is large.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn written_recordings_are_read_back(
        // Enough for several parts.
        transactions in proptest::collection::vec(any_transaction(), 0..400),
        aborted: u64,
        cut: u64,
    ) {
        let left_out = LeftOut { aborted, cut };
        let bytes = written(header(), &transactions, left_out);
        let reader = Reader::new(&bytes[..]).unwrap();
        prop_assert_eq!(reader.header(), &header());
        let (back, totals) = read(&bytes);
        prop_assert_eq!(&back, &transactions);
        let accesses = transactions.iter().map(|one| one.accesses.len() as u64).sum();
        let counted = Totals { transactions: transactions.len() as u64, accesses, left_out };
        prop_assert_eq!(totals.unwrap(), counted);
    }

    #[test]
    fn cut_recordings_give_whole_transactions_and_an_error(
        transactions in proptest::collection::vec(any_transaction(), 1..400),
        at in 0.0..1.0,
    ) {
        let bytes = written(header(), &transactions, LeftOut::default());
        let (back, totals) = read(&bytes[..(bytes.len() as f64 * at) as usize]);
        prop_assert!(totals.is_err());
        prop_assert!(transactions.starts_with(&back));
    }

    #[test]
    fn flipped_bits_are_detected(at in 0.0..1.0, bit in 0..8) {
        let mut bytes = written(header(), &[transaction(&[RecordedAccess::read(1)])], LeftOut::default());
        let at = (bytes.len() as f64 * at) as usize;
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(read(&bytes).1.is_err());
    }
}

#[test]
fn near_accesses_take_a_byte() {
    let near: Vec<RecordedAccess> =
        (500..600).flat_map(|page| [RecordedAccess::read(page), RecordedAccess::write(page)]).collect();
    let one = written(header(), &[transaction(&[RecordedAccess::read(500)])], LeftOut::default());
    let many = written(header(), &[transaction(&near)], LeftOut::default());
    // The number of accesses takes a byte more, in the transaction and in the totals.
    assert_eq!(many.len() - one.len(), near.len() - 1 + 2);
}

#[test]
fn fields_out_of_range_are_refused_with_the_allowed_values() {
    let relation = |first_page, pages| {
        let stock = header().relations.remove(0);
        let other = Relation { name: "other".into(), first_page, pages };
        Header { relations: vec![stock, other], ..header() }
    };
    for (header, refusal) in [
        (
            Header { page_bytes: 8000, ..header() },
            "the page size is 8000, must be 1024, 2048, 4096, 8192, 16384 or 32768 bytes",
        ),
        (
            Header { pages: 0, ..header() },
            "the number of pages of the database is 0, must be from 1 to 2147483648",
        ),
        (Header { clients: 0, ..header() }, "the number of clients is 0, must be from 1 to 65535"),
        (
            Header { kinds: vec![], ..header() },
            "the number of kinds of transactions is 0, must be from 1 to 4096",
        ),
        (
            Header { kinds: vec!["".into()], ..header() },
            "the name of a kind of transactions is '', must be a name",
        ),
        (relation(599, 1), "the first page of relation 'other' is 599, must be from 600 to 1000"),
        (relation(900, 101), "the number of pages of relation 'other' is 101, must be from 0 to 100"),
    ] {
        let Err(error) = Writer::new(Vec::new(), header) else { panic!("not refused: {refusal}") };
        assert_eq!(error.to_string(), refusal);
    }
    let mut writer = Writer::new(Vec::new(), header()).unwrap();
    let endless = vec![RecordedAccess::read(0); ACCESSES_MOST + 1];
    for (transaction, refusal) in [
        (
            transaction(&[RecordedAccess::write(1000)]),
            "the page of an access is 1000, must be from 0 to 999, the last page of the database",
        ),
        (
            transaction(&endless),
            "the number of page accesses of the transaction is 8388609, must be from 1 to 8388608; a longer transaction \
             must be split, or left out",
        ),
        (
            Transaction { kind: 2, ..transaction(&[RecordedAccess::read(0)]) },
            "the kind of the transaction is 2, must be from 0 to 1",
        ),
    ] {
        assert_eq!(writer.push(&transaction).unwrap_err().to_string(), refusal);
    }
    // A refused transaction leaves no trace.
    assert_eq!(read(&writer.finish(LeftOut::default()).unwrap().0).1.unwrap(), Totals::default());
}

/// A recording whose parts are valid but for their content.
fn sealed(parts: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    parts.iter().for_each(|(tag, content)| seal(*tag, content, &mut bytes));
    bytes
}

/// A header of 10 pages of 8 KiB and a kind `k`.
const HEAD: (u8, &[u8]) = (b'H', b"\x80\x40\x0a\x01\0\x01\x01k\0");

#[test]
fn faults_in_a_file_are_reported_with_their_place() {
    let sealed_header = |content: &[u8]| sealed(&[(b'H', content)]);
    let part = |content: &[u8]| sealed(&[HEAD, (b'T', content), (b'E', b"\x01\x01\0\0")]);
    let mut newer = sealed(&[HEAD]);
    newer[MAGIC.len()] = 2;
    for (bytes, reason) in [
        (b"128166372".to_vec(), "it is not a recording of transactions: it begins with \"128166372\""),
        (b"\x07eae\0\xff".to_vec(), "it begins with the bytes 07 65 61 65 00 ff (hexadecimal), must begin"),
        (newer, "its version is 2, must be 1"),
        (sealed(&[]), "the part at byte 20 of its content is cut"),
        (sealed(&[(b'T', b"")]), "the part at byte 20 of its content is not the header"),
        (sealed_header(b"\x80\x40\x0a\x01\0\x01\x01k\0\0"), "is longer than its content"),
        (sealed_header(b"\x80\x40\x0a\x01\x7f"), "ends within a number or a text"),
        (sealed_header(b"\x80\x40\x0a\x01\x01\xff"), "has a text that is not UTF-8"),
        (sealed(&[HEAD]), "the part at byte 38 of its content is cut"),
        (sealed(&[HEAD, (b'X', b"")]), "is neither transactions nor the end"),
        (sealed(&[HEAD, (b'E', b"\0\0\0\0")]), ""),
        (sealed(&[HEAD, (b'E', b"\x01\0\0\0")]), "counts other transactions or accesses than there are"),
        (sealed(&[HEAD, (b'E', b"\0\0\0\0"), HEAD]), "is behind the recording's end"),
        (part(b"\0\0\0\0\x01\x00"), ""),
        (part(b"\0\0\0\0\x01\x28"), "the page of an access is 10, must be from 0 to 9"),
        (part(b"\0\0\0\0\x01\x06"), "the page of an access is 18446744073709551615, must be from 0 to 9"),
        (part(b"\0\x01\0\0\x01\x00"), "the kind of the transaction is 1, must be from 0 to 0"),
        (part(b"\0\0\0\0\0"), "the number of page accesses of the transaction is 0"),
        (
            part(b"\0\0\0\0\xff\xff\xff\xff\x7f\x00"),
            "the number of page accesses of the transaction is 34359738367",
        ),
        (
            part(b"\x80\x80\x04\0\0\0\x01\x00"),
            "the session of the transaction is 65536, must be from 0 to 65535",
        ),
        (part(b"\0\0\0"), "ends within a number or a text; 0 transactions were read until then"),
    ] {
        match read(&bytes).1 {
            Ok(_) => assert_eq!(reason, "", "{bytes:?} was accepted"),
            Err(error) => {
                assert!(
                    !reason.is_empty() && error.to_string().contains(reason),
                    "{error}, expected: {reason}"
                );
            }
        }
    }
}

#[test]
fn files_are_read_in_any_compression() {
    let dir = tempfile::tempdir().unwrap();
    let transactions = [
        transaction(&[RecordedAccess::read(5), RecordedAccess::write(6)]),
        transaction(&[RecordedAccess::write(999)]),
    ];
    for name in ["a.pages", "a.pages.gz", "a.pages.xz", "a.pages.zst"] {
        let path = dir.path().join(name);
        let out = flashlane_trace::Output::create(&path, false).unwrap();
        let mut writer = Writer::new(out, header()).unwrap();
        transactions.iter().for_each(|transaction| writer.push(transaction).unwrap());
        writer.finish(LeftOut::default()).unwrap().0.close().unwrap();
        let mut recording = Recording::open(&path, || false).unwrap();
        assert_eq!(recording.header(), &header());
        let mut into = Transaction::default();
        for transaction in &transactions {
            assert!(recording.read(&mut into).unwrap());
            assert_eq!(&into, transaction);
        }
        assert!(!recording.read(&mut into).unwrap());
        assert_eq!(recording.totals().unwrap().accesses, 3);
        // The end stays the end.
        assert!(!recording.read(&mut into).unwrap());
    }
    let missing = Recording::open(&dir.path().join("b.pages"), || false).err().unwrap();
    assert!(missing.to_string().contains("b.pages"), "{missing}");
}

#[test]
fn recordings_are_known_by_their_names() {
    for name in ["tpcc.pages", "a/b.PAGES.XZ", "x.y.pages.zstd"] {
        assert!(is_named(name.as_ref()), "{name}");
    }
    for name in ["pages", ".pages", "x.pages.bz2", "x.msr", "xpages.gz", "-"] {
        assert!(!is_named(name.as_ref()), "{name}");
    }
}

#[test]
fn repeated_recording_begins_anew_from_memory() {
    let transactions = [transaction(&[RecordedAccess::read(1)]), transaction(&[RecordedAccess::write(2)])];
    let bytes = written(header(), &transactions, LeftOut::default());
    let open = move || Recording::from_reader(std::io::Cursor::new(bytes.clone()), "two");
    let mut repeated = Repeated::new(open).unwrap();
    let mut into = Transaction::default();
    for at in 0..5 {
        assert!(repeated.next(&mut into).unwrap());
        assert_eq!((&into, repeated.passes()), (&transactions[at % 2], at as u64 / 2 + 1));
    }
}
