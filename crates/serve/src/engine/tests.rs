//! The protocol from a client's side, over devices in virtual time: negotiation, commands, and what clients are known
//! to trip over (bug reports are named).

mod client;

use super::*;
use client::{Client, GO, INFO, Reply, disk, null, sim};
use flashlane_device_testing::MemoryFaults;

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const STARTTLS: u32 = 5;
const STRUCTURED_REPLY: u32 = 8;
const LIST_META_CONTEXT: u32 = 9;
const SET_META_CONTEXT: u32 = 10;
const EXTENDED_HEADERS: u32 = 11;

const ACK: u32 = 1;
const UNSUPPORTED: u32 = 1 << 31 | 1;
const INVALID: u32 = 1 << 31 | 3;
const UNKNOWN: u32 = 1 << 31 | 6;
const TOO_BIG: u32 = 1 << 31 | 9;

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const CACHE: u16 = 5;
const ZEROES: u16 = 6;
const STATUS: u16 = 7;
const RESIZE: u16 = 8;

const FUA: u16 = 1;
const NO_HOLE: u16 = 2;
const FAST_ZERO: u16 = 16;

/// Data of OPT_INFO and OPT_GO.
fn info(name: &[u8], wanted: &[u16]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend_from_slice(name);
    data.extend((wanted.len() as u16).to_be_bytes());
    wanted.iter().for_each(|kind| data.extend(kind.to_be_bytes()));
    data
}

/// Data of the options of contexts.
fn contexts(name: &[u8], queries: &[&[u8]]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend_from_slice(name);
    data.extend((queries.len() as u32).to_be_bytes());
    for query in queries {
        data.extend((query.len() as u32).to_be_bytes());
        data.extend_from_slice(query);
    }
    data
}

/// A client that has chosen structured replies and base:allocation.
fn structured<D: DataDevice>(engine: Engine<D>) -> Client<D> {
    let mut client = Client::greeted(engine);
    assert_eq!(client.option(STRUCTURED_REPLY, &[]), [(ACK, vec![])]);
    let chosen = client.option(SET_META_CONTEXT, &contexts(b"", &[b"base:allocation"]));
    assert_eq!(chosen, [(4, [&[0, 0, 0, 1][..], b"base:allocation"].concat()), (ACK, vec![])]);
    client.option(GO, &info(b"", &[]));
    client
}

#[test]
fn unknown_options_are_refused_and_negotiation_goes_on() {
    let mut client = Client::greeted(null());
    for option in [STARTTLS, EXTENDED_HEADERS, 4, 0, 77, u32::MAX] {
        let replies = client.option(option, b"some data");
        assert_eq!((replies.len(), replies[0].0), (1, UNSUPPORTED), "option {option}");
    }
    assert_eq!(client.option(LIST, b"x")[0].0, INVALID);
    assert_eq!(client.option(LIST, b"").iter().map(|reply| reply.0).collect::<Vec<_>>(), [2, ACK]);
    assert_eq!(client.option(GO, b"\0\0\0\x05abc")[0].0, INVALID);
    assert_eq!(client.option(GO, &info(b"other", &[]))[0].0, UNKNOWN);
    assert_eq!(client.option(77, &vec![0; 200_000])[0].0, TOO_BIG);
    assert_eq!(client.option(GO, &info(b"drive", &[])).last().unwrap().0, ACK);
    assert_eq!(client.read(0, 512), Ok(vec![0; 512]));
}

/// libnbd e714b9a: qemu-nbd 6.2 fails OPT_INFO of clients that do not ask for block sizes.
#[test]
fn block_sizes_are_told_only_to_clients_that_ask() {
    let mut client = Client::greeted(null());
    let export = |client: &mut Client<_>, wanted: &[u16]| {
        let replies = client.option(INFO, &info(b"", wanted));
        assert_eq!(replies.last(), Some(&(ACK, vec![])));
        replies.into_iter().filter(|reply| reply.0 == 3).map(|reply| reply.1).collect::<Vec<_>>()
    };
    let size = (1_u64 << 20).to_be_bytes();
    let plain = export(&mut client, &[]);
    assert_eq!((plain.len(), &plain[0][..10]), (1, &[&[0, 0], &size[..]].concat()[..]));
    let all = export(&mut client, &[3, 1, 2, 99]);
    assert_eq!(all.len(), 4, "an unknown kind is no error");
    let sizes = [512_u32, 4096, 32 << 20].map(u32::to_be_bytes).concat();
    assert_eq!(all[3], [&[0, 3], &sizes[..]].concat());
}

/// qemu up to 2.5 uses only EXPORT_NAME, and needs a name; nbd-client does not set NO_ZEROES everywhere.
#[test]
fn export_name_works_with_and_without_zeroes() {
    for (flags, name, zeros) in [(1, &b"drive"[..], 124), (3, b"", 0)] {
        let mut client = Client::with_flags(null(), flags);
        client.send_option(EXPORT_NAME, name);
        let reply = client.received();
        assert_eq!(reply.len(), 10 + zeros);
        assert_eq!(reply[..8], (1_u64 << 20).to_be_bytes());
        assert_eq!(client.write(0, &[7; 512], 0), Ok(()));
        assert_eq!(client.read(0, 512), Ok(vec![7; 512]));
    }
    let mut client = Client::with_flags(null(), 3);
    client.send_option(EXPORT_NAME, b"other");
    assert!(client.is_closed(), "the protocol has no answer");
}

#[test]
fn abort_is_acknowledged_and_closes() {
    let mut client = Client::greeted(null());
    assert_eq!(client.option(ABORT, &[]), [(ACK, vec![])]);
    assert!(client.is_closed());
}

#[test]
fn contexts_require_structured_replies_and_hold_for_one_name() {
    let mut client = Client::greeted(null());
    let all = contexts(b"", &[b"base:allocation", b"qemu:dirty-bitmap:x"]);
    assert_eq!(client.option(SET_META_CONTEXT, &all)[0].0, INVALID);
    client.option(STRUCTURED_REPLY, &[]);
    assert_eq!(client.option(LIST_META_CONTEXT, &contexts(b"", &[])).len(), 2);
    assert_eq!(client.option(LIST_META_CONTEXT, &contexts(b"", &[b"base:"])).len(), 2);
    assert_eq!(client.option(LIST_META_CONTEXT, &contexts(b"", &[b"qemu:"])).len(), 1);
    assert_eq!(client.option(SET_META_CONTEXT, &contexts(b"", &[b"base:"])).len(), 1, "nothing is chosen");
    assert_eq!(client.option(SET_META_CONTEXT, &all).len(), 2);
    assert_eq!(client.option(SET_META_CONTEXT, &contexts(b"x", &[b"base:allocation"]))[0].0, UNKNOWN);
    assert_eq!(client.option(SET_META_CONTEXT, b"\xff\xff\xff\xff")[0].0, INVALID);
    assert_eq!(client.option(SET_META_CONTEXT, &all).len(), 2);
    client.option(GO, &info(b"drive", &[]));
    assert_eq!(client.call(0, STATUS, 0, 512, &[]), Err(22), "it was chosen for the other name");
}

/// spdk 972: the kernel's client sends requests of 1024 bytes to a device with sectors of 4096, whatever it negotiated.
#[test]
fn any_alignment_reads_and_writes_like_memory() {
    let mut client = Client::open(sim("sector=4KiB,capacity=8MiB"));
    let mut model = vec![0_u8; 1 << 18];
    let mut random = flashlane_base::Seed(7).source();
    for step in 0..400_u64 {
        let offset = random.below(model.len() as u64);
        let length =
            1 + random.below((model.len() as u64 - offset).min([3, 1024, 20_000][step as usize % 3]));
        let range = offset as usize..(offset + length) as usize;
        match random.below(6) {
            0..=2 => {
                let data: Vec<u8> = (0..length).map(|nth| (step * 31 + nth) as u8 | 1).collect();
                assert_eq!(client.write(offset, &data, 0), Ok(()));
                model[range].copy_from_slice(&data);
            }
            3 => {
                let flags = [0, NO_HOLE, FUA][random.below(3) as usize];
                assert_eq!(client.call(flags, ZEROES, offset, length as u32, &[]), Ok(vec![]));
                model[range].fill(0);
            }
            4 => {
                // Whole sectors read as zeros afterwards, the ends are kept.
                assert_eq!(client.call(0, TRIM, offset, length as u32, &[]), Ok(vec![]));
                let (first, last) = (offset.next_multiple_of(4096), (offset + length) / 4096 * 4096);
                if first < last {
                    model[first as usize..last as usize].fill(0);
                }
            }
            _ => assert_eq!(client.read(offset, length as u32).as_deref(), Ok(&model[range])),
        }
    }
    assert_eq!(client.read(0, model.len() as u32), Ok(model));
}

#[test]
fn overlapping_partial_writes_in_flight_keep_each_others_bytes() {
    let mut client = Client::open(sim("sector=4KiB,capacity=8MiB"));
    // 64 clients of a kind that writes 64 bytes each, all into one sector, at once.
    for nth in 0..64_u64 {
        client.send(0, WRITE, nth, nth * 64, 64, &[nth as u8 + 1; 64]);
    }
    for nth in 0..64 {
        assert!(matches!(client.receive(), Reply::Simple { error: 0, .. }), "write {nth}");
    }
    let expected: Vec<u8> = (0..64_u8).flat_map(|nth| [nth + 1; 64]).collect();
    assert_eq!(client.read(0, 4096), Ok(expected));
}

#[test]
fn commands_outside_the_export_get_errors_and_keep_the_connection() {
    let mut client = Client::open(null());
    let size = 1_u64 << 20;
    for (command, offset, length, error) in [
        (READ, size, 1, 22),
        (READ, size - 1, 2, 22),
        (READ, u64::MAX, 512, 22),
        (READ, 0, 0, 22),
        (READ, 0, 33 << 20, 22),
        (WRITE, size - 1, 2, 28),
        (WRITE, u64::MAX - 10, 512, 28),
        (ZEROES, size, 512, 28),
        (ZEROES, 0, u32::MAX, 28),
        (TRIM, size - 512, 1024, 22),
        (STATUS, 0, 512, 22),
        (CACHE, 0, 512, 22),
        (RESIZE, 0, 512, 22),
        (999, 0, 512, 22),
    ] {
        let data = if command == WRITE { vec![9; length as usize] } else { vec![] };
        assert_eq!(client.call(0, command, offset, length, &data), Err(error), "{command} {offset} {length}");
    }
    for flags in [NO_HOLE, 4, 8, FAST_ZERO, 32, 1 << 15] {
        assert_eq!(client.call(flags, WRITE, 0, 5, b"12345"), Err(22), "flags {flags}");
    }
    assert_eq!(client.read(size - 512, 512), Ok(vec![0; 512]), "the data of refused writes was skipped");
}

#[test]
fn long_requests_are_refused_without_the_end_of_the_connection() {
    let mut client = Client::open(sim("capacity=4GiB"));
    assert_eq!(client.call(0, READ, 0, (32 << 20) + 1, &[]), Err(75));
    assert_eq!(client.call(0, WRITE, 0, (32 << 20) + 1, &vec![1; (32 << 20) + 1]), Err(75));
    assert_eq!(client.write(0, &vec![1; 32 << 20], 0), Ok(()));
    assert_eq!(client.read(0, 32 << 20), Ok(vec![1; 32 << 20]));
    // systemd 16242: the kernel sends discards beyond 2 GiB.
    for command in [TRIM, ZEROES] {
        assert_eq!(client.call(0, command, 512, u32::MAX - 511 - 512, &[]), Ok(vec![]));
    }
    assert_eq!(client.read(0, 1024), Ok([[1; 512], [0; 512]].concat()));
}

/// nbd 44: sizes beyond 2 TiB were cut.
#[test]
fn sizes_beyond_2_tib_are_told_and_reached() {
    let size = 5 << 40;
    let options = Options { data_bytes: Some(1 << 30), ..Options::default() };
    let device = flashlane_layer::Backed::new(flashlane_device::NullDevice::new(size));
    let mut client = Client::greeted(Engine::new(device, options));
    let replies = client.option(GO, &info(b"", &[]));
    assert_eq!(replies[0].1[2..10], size.to_be_bytes());
    assert_eq!(client.write(size - 512, &[3; 512], 0), Ok(()));
    assert_eq!(client.read(size - 1024, 1024), Ok([[0; 512], [3; 512]].concat()));
}

#[test]
fn read_only_export_refuses_changes_and_says_so() {
    let options = Options { read_only: true, data_bytes: Some(1 << 20), ..Options::default() };
    let device = flashlane_layer::Backed::new(flashlane_device::NullDevice::new(1 << 20));
    let mut client = Client::greeted(Engine::new(device, options));
    let flags = client.option(GO, &info(b"", &[]))[0].1[10..12].to_vec();
    let flags = u16::from_be_bytes(flags.try_into().unwrap());
    assert_eq!(flags, 1 | 2 | 4 | 256, "read-only, flush, several connections");
    for (command, data) in [(WRITE, &[1; 512][..]), (TRIM, &[]), (ZEROES, &[])] {
        assert_eq!(client.call(0, command, 0, 512, data), Err(1));
    }
    assert_eq!(client.call(0, FLUSH, 0, 0, &[]), Ok(vec![]));
    assert_eq!(client.read(0, 512), Ok(vec![0; 512]));
}

/// Lengths and flags of the extents of a range.
fn extents<D: DataDevice>(client: &mut Client<D>, flags: u16, offset: u64, length: u32) -> Vec<(u32, u32)> {
    let data = client.call(flags, STATUS, offset, length, &[]).unwrap();
    assert_eq!(data[..4], [0, 0, 0, 1]);
    let word = |at: usize| u32::from_be_bytes(data[at..at + 4].try_into().unwrap());
    (4..data.len()).step_by(8).map(|at| (word(at), word(at + 4))).collect()
}

#[test]
fn structured_replies_carry_offsets_texts_and_extents() {
    let mut client = structured(sim("sector=512B,capacity=64MiB"));
    assert_eq!(client.write(1 << 20, &[5; 8192], 0), Ok(()));
    client.send(4, READ, 77, 1 << 20, 512, &[]);
    let Reply::Chunk { kind: 1, cookie: 77, data } = client.receive() else { panic!("data with its offset") };
    assert_eq!(data, [&(1_u64 << 20).to_be_bytes()[..], &[5; 512]].concat());
    client.send(0, READ, 78, 1 << 40, 512, &[]);
    let Reply::Chunk { kind: 0x8001, cookie: 78, data } = client.receive() else { panic!("an error") };
    assert_eq!(data[..4], 22_u32.to_be_bytes());
    assert!(String::from_utf8_lossy(&data[6..]).contains("behind the export"));
    let all = extents(&mut client, 0, 0, 64 << 20);
    assert_eq!(all, [(1 << 20, 3), (8192, 0), ((63 << 20) - 8192, 3)]);
    assert_eq!(extents(&mut client, 8, 0, 64 << 20), [(1 << 20, 3)], "one was asked for");
    assert_eq!(extents(&mut client, 0, (1 << 20) + 100, 200), [(200, 0)]);
    // nbd 64: trims of a wrong length.
    assert_eq!(client.call(0, TRIM, 1 << 20, 4096, &[]), Ok(vec![]));
    assert_eq!(extents(&mut client, 0, 1 << 20, 8192), [(4096, 3), (4096, 0)]);
    assert_eq!(client.call(FAST_ZERO, ZEROES, 0, 1 << 20, &[]), Ok(vec![]));
    assert_eq!(client.call(FAST_ZERO | NO_HOLE, ZEROES, 0, 512, &[]), Err(95));
    // Its ends would be written.
    assert_eq!(client.call(FAST_ZERO, ZEROES, (1 << 20) + 4096, 513, &[]), Err(95));
    assert_eq!(client.call(FAST_ZERO, ZEROES, (1 << 20) + 4097, 511, &[]), Err(95));
    assert_eq!(client.read((1 << 20) + 4096, 1024), Ok(vec![5; 1024]), "nothing was changed");
}

#[test]
fn writes_beyond_the_memory_of_a_drive_get_no_space() {
    let options = Options { data_bytes: Some(16384), ..Options::default() };
    let device = flashlane_layer::Backed::new(flashlane_device::NullDevice::new(1 << 30));
    let mut client = Client::open(Engine::new(device, options));
    assert_eq!(client.write(0, &[1; 16384], 0), Ok(()));
    assert_eq!(client.write(1 << 20, &[1; 512], 0), Err(28));
    assert_eq!(client.write(100, &[2; 512], 0), Ok(()), "in place of other data");
    assert_eq!(client.call(0, TRIM, 0, 8192, &[]), Ok(vec![]));
    assert_eq!(client.write(1 << 20, &[1; 512], 0), Ok(()));
}

#[test]
fn only_data_other_than_zeros_takes_memory() {
    let device = flashlane_layer::Backed::new(flashlane_device::NullDevice::new(1 << 20));
    let options = Options { data_bytes: Some(8192), ..Options::default() };
    let mut client = structured(Engine::new(device, options));
    assert_eq!(client.write(0, &[0; 65536], 0), Ok(()), "zeros");
    assert_eq!(extents(&mut client, 0, 0, 65536), [(65536, 3)]);
    assert_eq!(client.write(512, &[[0; 512], [1; 512]].concat(), 0), Ok(()));
    assert_eq!(extents(&mut client, 0, 0, 4096), [(1024, 3), (512, 0), (2560, 3)]);
    // Room that the client asked for counts, and is no hole.
    assert_eq!(client.call(NO_HOLE, ZEROES, 8192, 8192, &[]), Err(28), "one chunk is left");
    assert_eq!(client.call(NO_HOLE, ZEROES, 8192, 4096, &[]), Ok(vec![]));
    assert_eq!(extents(&mut client, 0, 4096, 12288), [(4096, 3), (4096, 0), (4096, 3)]);
    assert_eq!(client.write(65536, &[1; 1], 0), Err(28));
    assert_eq!(client.write(8192, &[1; 4096], 0), Ok(()));
    // Sectors that are trimmed one after the other, or overwritten with zeros, free their chunk.
    for sector in 0..8 {
        assert_eq!(client.write(65536, &[1; 1], 0), Err(28), "sector {sector} is held");
        match sector % 2 {
            0 => assert_eq!(client.call(0, TRIM, 8192 + 512 * sector, 512, &[]), Ok(vec![])),
            _ => assert_eq!(client.write(8192 + 512 * sector, &[0; 512], 0), Ok(())),
        }
    }
    assert_eq!(client.write(65536, &[1; 1], 0), Ok(()));
}

#[test]
fn failed_writes_count_only_if_they_reached_the_drive() {
    let device = |key: &str| {
        let spec = format!("faulty(backed(sim:ssd-s),{key}=100%)");
        let opened = flashlane_open::OpenOptions::new().open_data(&*spec).unwrap();
        let options = Options { data_bytes: Some(8192), ..Options::default() };
        structured(Engine::new(opened.device, options))
    };
    // The unit around it cannot be read.
    let mut client = device("read-errors");
    for chunk in 0..8 {
        assert_eq!(client.write(4096 * chunk + 1, &[1; 100], 0), Err(5));
    }
    assert_eq!(extents(&mut client, 0, 0, 1 << 20), [(1 << 20, 3)]);
    // A write that fails may have written anything: it is no hole.
    let mut client = device("write-errors");
    for chunk in 0..2 {
        assert_eq!(client.write(4096 * chunk, &[1; 4096], 0), Err(5));
    }
    assert_eq!(extents(&mut client, 0, 0, 1 << 20), [(8192, 0), ((1 << 20) - 8192, 3)]);
    assert_eq!(client.write(8192, &[1; 4096], 0), Err(28));
}

#[test]
fn flush_on_one_connection_covers_writes_of_another() {
    let mut client = Client::open(disk(MemoryFaults::default()));
    assert_eq!(client.write(0, &[1; 4096], 0), Ok(()));
    let mut other = client.another();
    assert_eq!(other.call(0, FLUSH, 0, 0, &[]), Ok(vec![]));
    assert_eq!(other.call(FUA, TRIM, 0, 512, &[]), Ok(vec![]), "a hint that the device does not know");
    for nth in 0..8 {
        assert_eq!(other.write(8192 + 100 * nth, &[3; 100], FUA), Ok(()));
        assert_eq!(other.write(65536 + 4096 * nth, &[4; 4096], 0), Ok(()));
    }
    other.cut_power();
    assert_eq!(other.read(0, 4096), Ok(vec![1; 4096]), "flushed");
    assert_eq!(other.read(8192, 800), Ok(vec![3; 800]), "durable");
    assert_ne!(other.read(65536, 8 * 4096), Ok(vec![4; 8 * 4096]), "the cut does lose what is neither");
}

#[test]
fn device_errors_reach_the_client_with_their_reason() {
    let faults = MemoryFaults { read_fails: 1.0, ..MemoryFaults::default() };
    let mut client = structured(disk(faults));
    client.send(0, READ, 5, 0, 512, &[]);
    let Reply::Chunk { kind: 0x8001, data, .. } = client.receive() else { panic!("an error") };
    assert_eq!(data[..4], 5_u32.to_be_bytes());
    assert_eq!(client.call(0, WRITE, 1, 3, b"abc"), Err(5), "its sector cannot be read");
    assert_eq!(client.write(0, &[1; 512], 0), Ok(()));
}

#[test]
fn bytes_that_are_no_request_end_the_connection_only() {
    let client = Client::open(null());
    let mut other = client.another();
    other.feed(&[0xff; 28]);
    assert!(other.is_closed());
    let mut client = other.back();
    assert_eq!(client.read(0, 512), Ok(vec![0; 512]));
    let mut wrong = client.raw();
    wrong.feed(&8_u32.to_be_bytes());
    assert!(wrong.is_closed(), "flags that the server does not have");
    let mut wrong = wrong.raw();
    wrong.feed(&[0, 0, 0, 3]);
    wrong.feed(b"GET / HTTP/1.1\r\n");
    assert!(wrong.is_closed());
}

#[test]
fn disconnect_answers_what_was_asked_before() {
    let mut client = Client::open(sim("capacity=8MiB"));
    for nth in 0..10 {
        client.send(0, READ, nth, nth * 4096, 4096, &[]);
    }
    client.send(0, 2, 99, 0, 0, &[]);
    for _ in 0..10 {
        assert!(matches!(client.receive(), Reply::Simple { error: 0, .. }));
        assert_eq!(client.take(4096), [0; 4096]);
    }
    assert!(client.is_closed());
}

/// An engine over a device of 1 GiB that does no work, with limits.
fn limited(
    clients_max: usize,
    memory_bytes: usize,
) -> Engine<flashlane_layer::Backed<flashlane_device::NullDevice>> {
    let options = Options { clients_max, memory_bytes, data_bytes: Some(1 << 30), ..Options::default() };
    Engine::new(flashlane_layer::Backed::new(flashlane_device::NullDevice::new(1 << 30)), options)
}

const NONE: [ClientId; 0] = [];

/// What a client sends to choose the export.
fn hello() -> Vec<u8> {
    [&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 1, 0, 0, 0, 0]].concat()
}

fn read_of(length: u32) -> Vec<u8> {
    client::request(0, READ, 1, 0, length, &[])
}

/// Connects clients that have chosen the export and taken all replies to it.
fn connected<D: DataDevice, const N: usize>(engine: &mut Engine<D>) -> [ClientId; N] {
    std::array::from_fn(|_| {
        let id = engine.connect().unwrap();
        assert_eq!(engine.feed(id, &hello()), hello().len());
        take_all(engine, id);
        id
    })
}

fn take_all<D: DataDevice>(engine: &mut Engine<D>, id: ClientId) -> usize {
    let mut taken = 0;
    while let Some(output) = engine.output(id).filter(|output| !output.is_empty()) {
        let bytes = output.len();
        engine.take(id, bytes);
        taken += bytes;
    }
    taken
}

/// Lets the device work, and advances its time by `time`.
fn pass<D: DataDevice>(engine: &mut Engine<D>, time: Duration) {
    let until = engine.served().now() + time;
    while engine.served().now() < until {
        engine.step(until);
    }
}

#[test]
fn clients_and_memory_have_limits() {
    let mut engine = limited(2, 1 << 20);
    let [first, second] = connected(&mut engine);
    assert_eq!(engine.connect(), None);
    // The first begins a write of 2 MiB and stops.
    let write = client::request(0, WRITE, 1, 0, 2 << 20, &[0; 100]);
    assert_eq!(engine.feed(first, &write), write.len());
    assert_eq!(engine.feed(second, &read_of(512)), 0);
    assert!(engine.has_room(first) && !engine.has_room(second), "only the incomplete write is read");
    engine.disconnect(first);
    assert_eq!(engine.feed(second, &read_of(512)), 28);
    pass(&mut engine, Duration::from_ms(1));
    assert_eq!(take_all(&mut engine, second), 16 + 512);
    assert_eq!(engine.clients_bytes, 0);
    assert!(engine.connect().is_some());
}

#[test]
fn clients_that_take_no_replies_leave_room_to_others() {
    let mut engine = limited(8, 8 << 20);
    let deaf: [ClientId; 3] = connected(&mut engine);
    let [other] = connected(&mut engine);
    for id in deaf {
        for _ in 0..1000 {
            engine.feed(id, &read_of(128 << 10));
            pass(&mut engine, Duration::from_us(1));
        }
        assert!(!engine.has_room(id), "it holds as much as is free");
    }
    assert!(engine.clients_bytes < 8 << 20, "{} bytes are held", engine.clients_bytes);
    for _ in 0..100 {
        assert_eq!(engine.feed(other, &read_of(4096)), 28);
        pass(&mut engine, Duration::from_us(1));
        assert_eq!(take_all(&mut engine, other), 16 + 4096);
    }
}

#[test]
fn taken_bytes_free_memory_and_count_replies_as_delivered() {
    let mut engine = limited(2, 8 << 20);
    let [id] = connected(&mut engine);
    for _ in 0..16 {
        assert_eq!(engine.feed(id, &read_of(128 << 10)), 28);
    }
    pass(&mut engine, Duration::from_ms(1));
    let all = 16 * (16 + (128 << 10));
    assert!(
        (all..all + (256 << 10)).contains(&engine.clients_bytes),
        "{} bytes are held",
        engine.clients_bytes
    );
    let mut taken = 0;
    while taken < all / 2 {
        let bytes = engine.output(id).unwrap().len().min(10_000);
        engine.take(id, bytes);
        taken += bytes;
    }
    assert!(engine.clients_bytes < all / 2 + (128 << 10), "{} bytes are held", engine.clients_bytes);
    // Replies that wait for the client are not delivered, and late once they are.
    assert_eq!(engine.served().total().lateness.len(), 8);
    pass(&mut engine, Duration::from_s(1));
    take_all(&mut engine, id);
    assert_eq!(engine.served().total().lateness.len(), 16);
    assert!(engine.served().total().lateness.quantile_ns(0.9) >= 0.9e9);
}

#[test]
fn client_that_takes_single_bytes_is_stalled() {
    let mut engine = limited(2, 64 << 10);
    let [slow, other] = connected(&mut engine);
    engine.feed(slow, &read_of(128 << 10));
    for second in 0..6 {
        assert_eq!(engine.stalled(), NONE, "after {second} s");
        pass(&mut engine, Duration::from_s(1));
        engine.take(slow, 1);
    }
    assert!(!engine.has_room(other));
    assert_eq!(engine.stalled(), [slow]);
    engine.disconnect(slow);
    // One that takes a reply in some seconds, and goes on, is not.
    engine.feed(other, &read_of(128 << 10));
    for _ in 0..20 {
        pass(&mut engine, Duration::from_s(1));
        for _ in 0..8 {
            let bytes = engine.output(other).unwrap().len();
            engine.take(other, bytes.min(10_000));
        }
        assert_eq!(engine.stalled(), NONE);
        engine.feed(other, &read_of(128 << 10));
    }
    // Nor is anybody while memory is free.
    let mut engine = limited(2, 8 << 20);
    let [slow] = connected(&mut engine);
    engine.feed(slow, &read_of(128 << 10));
    for _ in 0..20 {
        pass(&mut engine, Duration::from_s(1));
        assert_eq!(engine.stalled(), NONE);
    }
}

#[test]
fn old_client_that_disconnects_gets_its_replies() {
    let mut engine = limited(2, 8 << 20);
    let [id] = connected(&mut engine);
    let silent = engine.connect().unwrap();
    pass(&mut engine, Duration::from_s(29));
    assert_eq!(engine.stalled(), NONE);
    pass(&mut engine, Duration::from_s(2));
    engine.feed(id, &[read_of(4096), client::request(0, 2, 9, 0, 0, &[])].concat());
    assert_eq!(engine.stalled(), [silent], "the one that never chose the export");
    pass(&mut engine, Duration::from_ms(1));
    assert_eq!(engine.stalled(), [silent]);
    assert_eq!(take_all(&mut engine, id), 16 + 4096);
    assert_eq!(engine.output(id), None, "its connection ends");
}
