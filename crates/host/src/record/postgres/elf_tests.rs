//! Reads small programs made here, and the server's program where there is one.

use super::*;
use proptest::prelude::*;

const TEXT_AT: u64 = 0x1000;
const BASE_AT: u64 = 0x9000;
/// Distance from an address to its offset in the file.
const SHIFT: u64 = 0x400;

/// Builds a note: location, base, semaphore and the three strings.
fn note(at: u64, base: u64, semaphore: u64, strings: [&str; 3]) -> Vec<u8> {
    let mut content: Vec<u8> = [at, base, semaphore].into_iter().flat_map(u64::to_le_bytes).collect();
    for string in strings {
        content.extend(string.as_bytes());
        content.push(0);
    }
    let mut note = Vec::new();
    for word in [8, content.len() as u32, STAPSDT] {
        note.extend(word.to_le_bytes());
    }
    note.extend(b"stapsdt\0");
    note.extend(&content);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}

/// Builds a program with these notes, and one exported function at `TEXT_AT + 16`.
fn program(machine: u16, notes: &[u8]) -> Vec<u8> {
    let names = b"\0.shstrtab\0.note.stapsdt\0.stapsdt.base\0.dynsym\0.dynstr\0";
    let at =
        |name: &str| names.windows(name.len()).position(|window| window == name.as_bytes()).unwrap() as u32;
    let strings = b"\0MarkBufferDirty\0Missing\0";
    let symbol = |name: u32, section: u16, value: u64| {
        let mut symbol = name.to_le_bytes().to_vec();
        symbol.extend([0x12, 0]);
        symbol.extend(section.to_le_bytes());
        symbol.extend(value.to_le_bytes());
        symbol.extend(0_u64.to_le_bytes());
        symbol
    };
    let symbols = [vec![0; 24], symbol(1, 1, TEXT_AT + 16), symbol(17, 0, 0)].concat();
    let mut body = vec![0; 64 + 56];
    let mut place = |bytes: &[u8]| {
        body.resize(body.len().next_multiple_of(8), 0);
        let begin = body.len() as u64;
        body.extend(bytes);
        (begin, bytes.len() as u64)
    };
    let (names_at, notes_at, symbols_at, strings_at) =
        (place(names), place(notes), place(&symbols), place(strings));
    // Name, type, address, place, link, entry size.
    let sections = [
        (0, 0, 0, (0, 0), 0, 0),
        (at(".shstrtab"), 3, 0, names_at, 0, 0),
        (at(".note.stapsdt"), 7, 0, notes_at, 0, 0),
        (at(".stapsdt.base"), 1, BASE_AT, (0, 1), 0, 0),
        (at(".dynsym"), 11, 0, symbols_at, 5, 24),
        (at(".dynstr"), 3, 0, strings_at, 0, 0),
    ];
    let sections_at = body.len().next_multiple_of(8);
    body.resize(sections_at, 0);
    for (name, kind, address, (begin, length), link, entry) in sections {
        for word in [name, kind] {
            body.extend(u32::to_le_bytes(word));
        }
        for long in [0, address, begin, length] {
            body.extend(u64::to_le_bytes(long));
        }
        for word in [link, 0] {
            body.extend(u32::to_le_bytes(word));
        }
        for long in [4, entry] {
            body.extend(u64::to_le_bytes(long));
        }
    }
    let mut head = b"\x7fELF\x02\x01\x01".to_vec();
    head.resize(16, 0);
    for short in [3, machine] {
        head.extend(u16::to_le_bytes(short));
    }
    head.extend(1_u32.to_le_bytes());
    for long in [0, 64, sections_at as u64] {
        head.extend(u64::to_le_bytes(long));
    }
    head.extend(0_u32.to_le_bytes());
    for short in [64, 56, 1, 64, sections.len() as u16, 1] {
        head.extend(u16::to_le_bytes(short));
    }
    // One segment to load, at other addresses than offsets.
    for word in [1, 5] {
        head.extend(u32::to_le_bytes(word));
    }
    for long in [TEXT_AT - SHIFT, TEXT_AT, TEXT_AT, 0x9000, 0x9000, 0x1000] {
        head.extend(u64::to_le_bytes(long));
    }
    body[..head.len()].copy_from_slice(&head);
    body
}

const X86_64: u16 = 62;

fn two_notes(base: u64) -> Vec<u8> {
    [
        note(TEXT_AT + 8, base, 0x2000, ["postgresql", "read", "-4@%r15d 1@$1"]),
        note(TEXT_AT + 32, base, 0, ["postgresql", "read", ""]),
        note(TEXT_AT + 40, base, 0, ["other", "read", "4@%eax"]),
    ]
    .concat()
}

#[test]
fn probes_and_functions_have_offsets_in_the_file() {
    let symbols = Symbols::parse(&program(X86_64, &two_notes(BASE_AT)), "postgresql").unwrap();
    let probe = |offset, semaphore, arguments: &[&str]| Probe {
        name: "read".into(),
        offset,
        semaphore,
        arguments: arguments.iter().map(|&argument| argument.into()).collect(),
    };
    let first = probe(TEXT_AT + 8 - SHIFT, Some(0x2000 - SHIFT), &["-4@%r15d", "1@$1"]);
    assert_eq!(symbols.probes("read"), [&first, &probe(TEXT_AT + 32 - SHIFT, None, &[])]);
    assert_eq!(symbols.function("MarkBufferDirty"), Some(TEXT_AT + 16 - SHIFT));
    assert_eq!(symbols.function("Missing"), None);
}

#[test]
fn notes_of_a_moved_program_are_corrected() {
    let symbols = Symbols::parse(&program(X86_64, &two_notes(BASE_AT - 0x100)), "postgresql").unwrap();
    assert_eq!(symbols.probes("read")[0].offset, TEXT_AT + 8 + 0x100 - SHIFT);
}

#[test]
fn unreadable_programs_are_refused_with_the_reason() {
    let cut = note(TEXT_AT, BASE_AT, 0, ["postgresql", "read", ""]);
    let cut = [&[8, 0, 0, 0, 10, 0, 0, 0, 3, 0, 0, 0][..], &cut[12..32]].concat();
    let outside = note(0x10_0000, BASE_AT, 0, ["postgresql", "read", ""]);
    for (bytes, part) in [
        (program(X86_64, &cut), "cut short"),
        (program(X86_64, &outside), "outside"),
        (program(183, &two_notes(BASE_AT)), "Aarch64"),
        (b"#!/bin/sh\n".to_vec(), ""),
    ] {
        let problem = Symbols::parse(&bytes, "postgresql").unwrap_err();
        assert!(problem.0.contains(part), "{problem:?} lacks '{part}'");
    }
    let found = Symbols::read(Path::new("/no/such/program"), "postgresql");
    assert!(matches!(found, Err(PostgresError::NoProgram { .. })));
}

#[test]
fn installed_server_has_the_required_probes() {
    let path = Path::new("/usr/lib/postgresql/15/bin/postgres");
    if !path.exists() {
        return println!("skipped: no PostgreSQL 15 here");
    }
    let symbols = Symbols::read(path, "postgresql").unwrap();
    let events = crate::record::postgres::probes::definitions(&symbols, path).unwrap();
    let lines: Vec<_> = events.iter().map(|event| event.line("group", path)).collect();
    assert!(lines.iter().any(|line| line.starts_with("p:group/buffer__read__done_1 /usr/lib")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("r:group/ReadBufferExtended ")), "{lines:#?}");
}

proptest! {
    #[test]
    fn damaged_programs_are_read_or_refused(at in 0..900_usize, byte: u8, length in 0..900_usize) {
        let mut bytes = program(X86_64, &two_notes(BASE_AT));
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = Symbols::parse(&bytes, "postgresql");
        let _ = Symbols::parse(&bytes[..length.min(bytes.len())], "postgresql");
    }
}
