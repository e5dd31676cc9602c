//! The recorded excerpts in `traces/` are read completely, and match `traces/README.md` and their benchmarks.

use flashlane_transactions::{Recording, Transaction};
use std::path::{Path, PathBuf};

struct Excerpt {
    name: &'static str,
    clients: u16,
    pages: u32,
    transactions: u64,
    accesses: u64,
    writes: u64,
    /// Names of the kinds with their shares in percent.
    kinds: &'static [(&'static str, f64)],
}

const EXCERPTS: &[Excerpt] = &[
    Excerpt {
        name: "ssb",
        clients: 1,
        pages: 53_304,
        transactions: 405,
        accesses: 7_455_155,
        writes: 0,
        kinds: &[("Q0 hash 1", 1.0 / 4.05), ("Q2.2 index 16", 16.0 / 4.05), ("Q4.1 hash 8", 8.0 / 4.05)],
    },
    Excerpt {
        name: "tatp",
        clients: 10,
        pages: 293_303,
        transactions: 240_000,
        accesses: 1_242_823,
        writes: 128_967,
        kinds: &[
            ("GetSubscriberData", 35.0),
            ("GetAccessData", 35.0),
            ("GetNewDestination", 10.0),
            ("UpdateLocation", 14.0),
            ("UpdateSubscriberData", 2.0),
            ("InsertCallForwarding", 2.0),
            ("DeleteCallForwarding", 2.0),
        ],
    },
    Excerpt {
        name: "tpc-b",
        clients: 10,
        pages: 273_123,
        transactions: 140_000,
        accesses: 3_477_750,
        writes: 1_023_794,
        kinds: &[("transaction", 100.0)],
    },
    Excerpt {
        name: "tpc-c",
        clients: 10,
        pages: 311_848,
        transactions: 28_000,
        accesses: 4_768_389,
        writes: 1_211_582,
        kinds: &[
            ("NewOrder", 45.0),
            ("Payment", 43.0),
            ("OrderStatus", 4.0),
            ("Delivery", 4.0),
            ("StockLevel", 4.0),
        ],
    },
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces")
}

#[test]
fn excerpt_has_its_documented_transactions() {
    let readme = std::fs::read_to_string(folder().join("README.md")).unwrap();
    for Excerpt { name, clients, pages, transactions, accesses, writes, kinds } in EXCERPTS {
        let file = format!("{name}.pages.xz");
        let mut recording = Recording::open(&folder().join(&file), || false).unwrap();
        let header = recording.header().clone();
        assert_eq!((header.page_bytes, header.clients, header.pages), (8192, *clients, *pages), "{name}");
        let mut found = [0_u64; 3];
        let mut of_kind = vec![0_u64; header.kinds.len()];
        let mut next = Transaction::default();
        while recording.read(&mut next).unwrap_or_else(|e| panic!("{name}: {e}")) {
            assert!(next.cpu.as_ns() > 0, "{name}: transaction {} took no time", found[0]);
            of_kind[usize::from(next.kind)] += 1;
            found[0] += 1;
            found[1] += next.accesses.len() as u64;
            found[2] += next.accesses.iter().filter(|access| access.is_write()).count() as u64;
        }
        assert_eq!(found, [*transactions, *accesses, *writes], "{name}");
        for (kind, percent) in *kinds {
            let at =
                header.kinds.iter().position(|name| name == kind).unwrap_or_else(|| panic!("{name}: {kind}"));
            let (all, share) = (*transactions as f64, percent / 100.0);
            let off = (of_kind[at] as f64 - all * share).abs();
            // Rolled back orders are left out, one in a hundred.
            let allowed = 5.0 * (all * share * (1.0 - share)).sqrt() + 0.01 * all * share;
            assert!(off <= allowed, "{name}: {} transactions {kind}", of_kind[at]);
        }
        let row = readme.lines().find(|line| line.starts_with(&format!("| `{file}` ")));
        let row: Vec<&str> =
            row.unwrap_or_else(|| panic!("{file} has no row")).split('|').map(str::trim).collect();
        assert_eq!(
            row[4..6],
            found[1..].iter().map(u64::to_string).collect::<Vec<_>>()[..],
            "{file} in README.md"
        );
    }
}

#[test]
fn excerpts_are_listed_and_small() {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let mut listed: Vec<_> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.metadata().unwrap().len()))
        .filter(|(name, _)| name.ends_with(".pages.xz"))
        .collect();
    listed.sort();
    let known: Vec<_> = EXCERPTS.iter().map(|excerpt| format!("{}.pages.xz", excerpt.name)).collect();
    assert_eq!(listed.iter().map(|(name, _)| name).collect::<Vec<_>>(), known.iter().collect::<Vec<_>>());
    for (name, bytes) in &listed {
        assert!(*bytes <= 3_000_000, "{name} has {bytes} bytes");
    }
}
