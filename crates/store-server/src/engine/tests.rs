//! Tests of the engine on devices in memory.

mod backup;

use super::*;
use flashlane_base::Seed;
use flashlane_device_testing::{MemoryDisk, MemoryFaults, MemoryLanes, cycle_power};
use flashlane_store::{Durability, Slices, StoreOptions};

type TestEngine = Engine<MemoryLanes, MemoryDisk>;

fn engine_with(slices: u32, options: ServerOptions) -> TestEngine {
    let device = MemoryLanes::new(4, 64, 64 << 10, 512, Seed(1));
    let log = MemoryDisk::new(1 << 20, 512, Seed(1));
    let store = Store::create(device, log, 1, Slices::even(slices), StoreOptions::default());
    let mut engine = Engine::new(store.expect("the devices suit"), options);
    engine.set_time(1_000_000);
    engine
}

/// Without a cache, so that every read of an idle key is one of the store.
fn engine() -> TestEngine {
    engine_with(1, without_cache())
}

fn without_cache() -> ServerOptions {
    let limits = crate::Limits { cache_bytes: 0, ..crate::Limits::default() };
    ServerOptions { limits, ..ServerOptions::default() }
}

fn connect(engine: &mut TestEngine) -> ClientId {
    engine.connect(None).expect("there is room")
}

/// Sends inline commands, a line each, and returns the replies, `|` for each line end.
fn call(engine: &mut TestEngine, client: ClientId, commands: &str) -> String {
    let mut input = commands.as_bytes();
    let mut replies = Vec::new();
    let input_with_end = [input, b"\n"].concat();
    input = &input_with_end;
    while !input.is_empty() || engine.is_busy() {
        let used = engine.feed(client, input);
        input = &input[used..];
        engine.step(Duration::from_ms(1));
        take(engine, client, &mut replies);
        if engine.output(client).is_none() {
            break;
        }
    }
    take(engine, client, &mut replies);
    String::from_utf8_lossy(&replies).trim_end().replace("\r\n", "|")
}

fn take(engine: &mut TestEngine, client: ClientId, replies: &mut Vec<u8>) {
    let output = engine.output(client).unwrap_or_default().to_vec();
    engine.take(client, output.len());
    replies.extend(output);
}

#[track_caller]
fn expect(engine: &mut TestEngine, client: ClientId, commands: &str, replies: &str) {
    assert_eq!(call(engine, client, commands), replies, "{commands}");
}

#[test]
fn pipelined_commands_on_a_key_run_in_order() {
    let mut engine = engine();
    let client = connect(&mut engine);
    let pipeline = "SET a 1\nGET a\nINCR a\nSET b x\nAPPEND a 5\nGET a\nDEL a\nGET a\nGET b\nSET a 9\nGET a";
    expect(&mut engine, client, pipeline, "+OK|$1|1|:2|+OK|:2|$2|25|:1|$-1|$1|x|+OK|$1|9");
    assert!(engine.cells.is_empty() && engine.writes.is_empty(), "nothing is kept");
}

#[test]
fn reply_has_the_form_that_was_asked_for_before_it() {
    let mut engine = engine();
    let client = connect(&mut engine);
    let replies =
        call(&mut engine, client, "SET a 1\nGET none\nHGETALL none\nHELLO 3\nGET none\nHGETALL none");
    assert!(replies.starts_with("+OK|$-1|*0|%") && replies.ends_with("|_|%0"), "{replies}");
}

#[test]
fn tables_of_a_burst_of_commands_shrink() {
    let mut engine = engine();
    let clients: Vec<ClientId> = (0..40).map(|_| connect(&mut engine)).collect();
    for (nth, client) in clients.iter().enumerate() {
        let gets: String = (0..1000).map(|key| format!("GET {nth}:{key}\n")).collect();
        assert_eq!(engine.feed(*client, gets.as_bytes()), gets.len());
    }
    assert!(engine.cells.capacity() >= 40_000 && engine.commands.capacity() >= 40_000);
    while engine.is_busy() {
        engine.step(Duration::from_ms(1));
    }
    let capacities = [engine.cells.capacity(), engine.commands.capacity()];
    assert!(capacities.iter().all(|&capacity| capacity <= 16 << 10), "{capacities:?} are kept");
}

#[test]
fn help_lists_the_subcommands_that_there_are() {
    let mut engine = engine();
    let client = connect(&mut engine);
    for (name, first) in [
        ("CLIENT", "GETNAME"),
        ("COMMAND", "(no subcommand)"),
        ("CONFIG", "GET <pattern>"),
        ("MEMORY", "USAGE <key> [SAMPLES <count>]"),
        ("OBJECT", "ENCODING <key>"),
    ] {
        let help = call(&mut engine, client, &format!("{name} Help"));
        let lines: Vec<&str> = help.split("|+").collect();
        assert_eq!(lines[0], format!("*{}", lines.len() - 1), "{help}");
        assert_eq!(lines[1], format!("{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
        assert_eq!((lines[2], lines[lines.len() - 2]), (first, "HELP"));
        for pair in lines[2..].chunks(2) {
            assert!(pair[1].starts_with("    ") && pair[1].ends_with('.'), "{pair:?}");
            let subcommand = pair[0].split(' ').next().unwrap();
            if !pair[0].starts_with('(') {
                let answer = call(&mut engine, client, &format!("{name} {subcommand}"));
                assert!(!answer.contains("unknown subcommand"), "{name} {subcommand}: {answer}");
            }
        }
        let wrong = format!("-ERR wrong number of arguments for '{}|help' command", name.to_lowercase());
        expect(&mut engine, client, &format!("{name} HELP x"), &wrong);
        let unknown = format!("-ERR unknown subcommand 'NONE'. Try {name} HELP.");
        expect(&mut engine, client, &format!("{name} NONE"), &unknown);
    }
    expect(
        &mut engine,
        client,
        "OBJECT ENCODING\nMEMORY USAGE",
        "-ERR wrong number of arguments for 'object|encoding' command|-ERR wrong number of arguments for 'memory|usage' command",
    );
}

#[test]
fn cache_answers_without_the_store() {
    for (options, reads) in [(ServerOptions::default(), 0), (without_cache(), 5)] {
        let mut engine = engine_with(1, options);
        let client = connect(&mut engine);
        expect(&mut engine, client, "SET a 1 PX 500\nDEL b", "+OK|:0");
        let before = engine.store.status().counters.gets;
        for _ in 0..5 {
            expect(&mut engine, client, "GET a", "$1|1");
        }
        assert_eq!(engine.store.status().counters.gets - before, reads);
        expect(
            &mut engine,
            client,
            "INCR a\nGET a\nDEL a\nGET a\nSETNX a 7\nGET a",
            ":2|$1|2|:1|$-1|:1|$1|7",
        );
        expect(&mut engine, client, "SET a 1 PX 500\nSET b 2\nFLUSHALL\nMGET a b", "+OK|+OK|+OK|*2|$-1|$-1");
        expect(&mut engine, client, "SET a 1 PX 500", "+OK");
        engine.set_time(1_000_500);
        expect(&mut engine, client, "GET a\nINCR a", "$-1|:1");
    }
}

#[test]
fn increments_of_many_clients_are_not_lost() {
    let mut engine = engine();
    let clients: Vec<ClientId> = (0..20).map(|_| connect(&mut engine)).collect();
    for _ in 0..25 {
        for client in &clients {
            assert_eq!(engine.feed(*client, b"INCR n\nHINCRBY h f 2\n"), 21);
        }
    }
    while engine.is_busy() {
        engine.step(Duration::from_ms(1));
    }
    for client in &clients {
        let replies = engine_replies(&engine, *client);
        assert_eq!(replies.matches(':').count(), 50, "{replies}");
    }
    let last = connect(&mut engine);
    expect(&mut engine, last, "GET n\nHGET h f", "$3|500|$4|1000");
}

fn engine_replies(engine: &TestEngine, client: ClientId) -> String {
    String::from_utf8_lossy(engine.output(client).unwrap()).trim_end().replace("\r\n", "|")
}

/// A reply means that its write is durable, and so is what it read.
#[test]
fn acknowledged_writes_survive_a_power_cut() {
    let mut engine =
        engine_with(1, ServerOptions { durability: Durability::Device, ..ServerOptions::default() });
    let (writer, reader) = (connect(&mut engine), connect(&mut engine));
    let mut acknowledged = 0;
    for nth in 0..200 {
        engine.feed(writer, format!("SET key {nth}\nSET other{nth} {nth}\n").as_bytes());
        engine.feed(reader, b"GET key\n");
        engine.step(Duration::from_us(20));
        let mut replies = Vec::new();
        take(&mut engine, writer, &mut replies);
        acknowledged += String::from_utf8_lossy(&replies).matches("+OK").count();
        if nth % 10 != 9 {
            continue;
        }
        let (mut device, mut log) =
            (engine.store.blocks().device().clone(), engine.store.log_device().clone());
        cycle_power(&mut device);
        cycle_power(&mut log);
        let mut replies = Vec::new();
        take(&mut engine, reader, &mut replies);
        let text = String::from_utf8_lossy(&replies).into_owned();
        let read: Option<u64> = text.lines().filter_map(|line| line.parse().ok()).next_back();
        let store = Store::open(device, log, StoreOptions::default()).expect("the store is there");
        let mut after = Engine::new(store, ServerOptions::default());
        let client = connect(&mut after);
        for other in 0..acknowledged / 2 {
            let digits = other.to_string();
            expect(&mut after, client, &format!("GET other{other}"), &format!("${}|{digits}", digits.len()));
        }
        if let Some(read) = read {
            let reply = call(&mut after, client, "GET key");
            let found: u64 = reply.rsplit('|').next().unwrap().parse().expect("a value was read before");
            assert!(found >= read, "{read} was read, and {found} is left");
        }
    }
    assert!(acknowledged > 100, "{acknowledged} writes were acknowledged");
}

#[test]
fn long_and_short_values_of_a_key_keep_their_order() {
    let mut engine = engine();
    let client = connect(&mut engine);
    let long = "x".repeat(60_000);
    for _ in 0..5 {
        let pipeline =
            format!("SET a {long}\nSTRLEN a\nSET a short\nGET a\nSET a {long}\nAPPEND a y\nSTRLEN a");
        expect(&mut engine, client, &pipeline, "+OK|:60000|+OK|$5|short|+OK|:60001|:60001");
    }
    expect(&mut engine, client, "STRLEN a", ":60001");
}

#[test]
fn transactions_run_as_a_whole() {
    let mut engine = engine();
    let (a, b) = (connect(&mut engine), connect(&mut engine));
    let queued = "+OK|+QUEUED|+QUEUED|+QUEUED|*3|+OK|:2|$1|2";
    expect(&mut engine, a, "MULTI\nSET n 1\nINCR n\nGET n\nEXEC", queued);
    expect(
        &mut engine,
        a,
        "MULTI\nSET n 5\nDISCARD\nGET n\nEXEC",
        "+OK|+QUEUED|+OK|$1|2|-ERR EXEC without MULTI",
    );
    let refused = "+OK|-ERR wrong number of arguments for 'get' command|-EXECABORT Transaction discarded because of previous errors.";
    expect(&mut engine, a, "MULTI\nGET\nEXEC", refused);
    expect(&mut engine, a, "WATCH n\nMULTI\nSET n 7", "+OK|+OK|+QUEUED");
    expect(&mut engine, b, "SET n 3", "+OK");
    expect(&mut engine, a, "EXEC\nGET n", "*-1|$1|3");
    expect(&mut engine, a, "WATCH n\nMULTI\nINCR n\nEXEC", "+OK|+OK|+QUEUED|*1|:4");
    // A command that fails does not undo the others.
    let failed = "+OK|+QUEUED|+QUEUED|+QUEUED|*3|+OK|-WRONGTYPE Operation against a key holding the wrong kind of value|:5";
    expect(&mut engine, a, "MULTI\nSET s x\nHGET s f\nINCR n\nEXEC", failed);
    assert!(engine.watches.is_empty());
}

#[test]
fn transaction_over_slices_is_refused() {
    let mut engine = engine_with(4, ServerOptions::default());
    let client = connect(&mut engine);
    let replies = call(
        &mut engine,
        client,
        "MULTI\nSET \"\\x01\" a\nSET \"\\xf0\" b\nEXEC\nMSET \"\\x01\" a \"\\xf0\" b\nDBSIZE",
    );
    let refusal =
        "-CROSSSLOT the keys of this request lie in several slices of the store, and are changed in one only";
    assert_eq!(replies, format!("+OK|+QUEUED|+QUEUED|{refusal}|+OK|:2"));
}

#[test]
fn keys_expire_and_report_when() {
    let mut engine = engine();
    let client = connect(&mut engine);
    expect(
        &mut engine,
        client,
        "SET a 1 PX 500\nPTTL a\nSET b 1 EX 10\nPEXPIRETIME b\nTTL c\nSET c 1\nTTL c",
        "+OK|:500|+OK|:1010000|:-2|+OK|:-1",
    );
    engine.set_time(1_000_499);
    expect(&mut engine, client, "GET a\nSET a 2 KEEPTTL\nPTTL a", "$1|1|+OK|:1");
    engine.set_time(1_000_500);
    expect(&mut engine, client, "GET a\nEXISTS a b c\nDBSIZE\nEXPIRE b -1\nDBSIZE", "$-1|:2|:2|:1|:1");
    expect(&mut engine, client, "PEXPIREAT c 1000600\nPERSIST c\nPERSIST c\nPTTL c", ":1|:1|:0|:-1");
}

#[test]
fn scan_returns_each_key_once_and_ends() {
    let mut engine = engine_with(4, ServerOptions::default());
    let client = connect(&mut engine);
    for nth in 0..300 {
        call(
            &mut engine,
            client,
            &format!("SET key{nth} {}", "v".repeat(if nth % 50 == 0 { 60_000 } else { 10 })),
        );
    }
    call(&mut engine, client, "HSET hash f v");
    let (mut cursor, mut found, mut calls) = ("0".to_owned(), BTreeSet::new(), 0);
    loop {
        let reply = call(&mut engine, client, &format!("SCAN {cursor} COUNT 7 MATCH k* TYPE string"));
        let lines: Vec<&str> = reply.split('|').collect();
        cursor = lines[2].to_owned();
        let keys = lines[3..].iter().filter(|line| line.starts_with("key"));
        keys.for_each(|key| assert!(found.insert(key.to_string()), "{key} comes twice"));
        // Other clients change keys meanwhile.
        call(&mut engine, client, &format!("SET key-new{calls} x\nDEL key-new{}", calls - 1));
        calls += 1;
        if cursor == "0" {
            break;
        }
    }
    let kept = found.iter().filter(|key| !key.starts_with("key-")).count();
    assert_eq!(kept, 300);
    assert!((300 / 7..100).contains(&calls), "{calls} calls");
    expect(&mut engine, client, "SCAN 0 TYPE hash COUNT 1000", "*2|$1|0|*1|$4|hash");
    assert!(call(&mut engine, client, "SCAN 12345").starts_with("-ERR invalid cursor"));
    let keys = call(&mut engine, client, "KEYS key29?");
    assert_eq!(keys.matches("key29").count(), 10);
    expect(
        &mut engine,
        client,
        "FLUSHALL\nDBSIZE\nRANDOMKEY\nSET a 1\nRANDOMKEY\nDBSIZE",
        "+OK|:0|$-1|+OK|$1|a|:1",
    );
}

#[test]
fn client_without_password_may_do_nothing() {
    let mut engine =
        engine_with(1, ServerOptions { password: Some(b"secret".to_vec()), ..ServerOptions::default() });
    let client = connect(&mut engine);
    let replies =
        call(&mut engine, client, "GET a\nNOSUCH\nHELLO 3\nAUTH wrong\nCONFIG GET *\nAUTH secret\nGET a");
    let lines: Vec<&str> = replies.split('|').collect();
    let no_auth = "-NOAUTH Authentication required.";
    assert_eq!(lines[..2], [no_auth, no_auth]);
    assert!(lines[2].starts_with("-NOAUTH HELLO must be called"));
    assert_eq!(lines[3], "-WRONGPASS invalid username-password pair or user is disabled.");
    assert_eq!(lines[4..], [no_auth, "+OK", "$-1"]);
    let client = connect(&mut engine);
    assert!(call(&mut engine, client, "HELLO 3 AUTH default secret").starts_with("%7|"));
}

#[test]
fn handshakes_of_clients_are_answered() {
    let mut engine = engine();
    let client = connect(&mut engine);
    expect(
        &mut engine,
        client,
        "CLIENT SETINFO LIB-NAME redis-py\nCLIENT SETINFO lib-ver 8.1.0\nCLIENT SETNAME me\nCLIENT GETNAME",
        "+OK|+OK|+OK|$2|me",
    );
    expect(
        &mut engine,
        client,
        "CONFIG GET save\nCONFIG GET appendonly",
        "*2|$4|save|$0||*2|$10|appendonly|$3|yes",
    );
    let hello = call(&mut engine, client, "HELLO 3");
    assert!(hello.starts_with("%7|$6|server|$5|redis|$7|version|$6|7.0.15|$5|proto|:3|"), "{hello}");
    expect(
        &mut engine,
        client,
        "GET none\nHSET h a 1\nHGETALL h\nCONFIG GET save",
        "_|:1|%1|$1|a|$1|1|%1|$4|save|$0",
    );
    expect(
        &mut engine,
        client,
        "HELLO 4\nHELLO 2",
        "-NOPROTO unsupported protocol version|*14|$6|server|$5|redis|$7|version|$6|7.0.15|$5|proto|:2|$2|id|:1|$4|mode|$10|standalone|$4|role|$6|master|$7|modules|*0",
    );
    let unknown = "-ERR unknown command 'LPUSH', with args beginning with: 'a' 'b' ";
    expect(&mut engine, client, "LPUSH a b\nPING", &format!("{unknown}|+PONG"));
    let list = call(&mut engine, client, "CLIENT LIST");
    assert!(list.contains("name=me") && list.contains("lib-name=redis-py lib-ver=8.1.0"), "{list}");
    let info = call(&mut engine, client, "INFO everything");
    for line in [
        "latency_percentiles_usec_get:p50=",
        "write_amplification:",
        "# Lanes|lane0:blocks=",
        "lane3:blocks=",
    ] {
        assert!(info.contains(line), "{line} is missing: {info}");
    }
    expect(&mut engine, client, "QUIT\nPING", "+OK");
    assert!(engine.output(client).is_none(), "the connection ends");
}

#[test]
fn info_counts_keys_that_are_only_in_containers() {
    let mut engine = engine_with(1, ServerOptions::default());
    let client = connect(&mut engine);
    expect(&mut engine, client, "SET a 1\nSET b 2\nSET c 3\nSET a 4\nDEL b\nDBSIZE", "+OK|+OK|+OK|+OK|:1|:2");
    let info = call(&mut engine, client, "INFO keyspace");
    assert!(info.contains("db0:keys=2,"), "{info}");
}

#[test]
fn client_that_does_not_read_takes_bounded_memory() {
    let limits = crate::Limits { output_bytes_max: 10_000, requests_max: 50, ..crate::Limits::default() };
    let mut engine = engine_with(1, ServerOptions { limits, ..ServerOptions::default() });
    let (greedy, other) = (connect(&mut engine), connect(&mut engine));
    call(&mut engine, other, &format!("SET a {}", "v".repeat(1000)));
    let requests = b"GET a\n".repeat(10_000);
    let mut used = 0;
    for _ in 0..1000 {
        used += engine.feed(greedy, &requests[used..]);
        engine.step(Duration::from_ms(1));
    }
    assert!(used < 1000, "{used} bytes of requests were read");
    assert!(engine.server().memory_bytes < 200_000, "{}", engine.server().memory_bytes);
    expect(&mut engine, other, "PING", "+PONG");
}

#[test]
fn greediest_client_is_closed_where_memory_ends() {
    let limits = crate::Limits { memory_bytes: 100_000, ..crate::Limits::default() };
    let mut engine = engine_with(1, ServerOptions { limits, ..ServerOptions::default() });
    let (greedy, other) = (connect(&mut engine), connect(&mut engine));
    engine.feed(other, b"*2\r\n$4\r\nECHO\r\n$100\r\nabc");
    for _ in 0..100 {
        engine.feed(greedy, b"*2\r\n$4\r\nECHO\r\n$1000000\r\n");
        engine.feed(greedy, &[0; 2000]);
    }
    assert!(engine.output(greedy).is_none(), "it is closed");
    assert!(engine.output(other).is_some());
    assert_eq!(engine.server().clients_evicted, 1);
}

#[test]
fn protocol_error_ends_the_connection() {
    let mut engine = engine();
    let client = connect(&mut engine);
    engine.feed(client, b"*1\r\n$4\r\nPING\r\n*1\r\n:4\r\nPING\r\n");
    let mut replies = Vec::new();
    take(&mut engine, client, &mut replies);
    assert_eq!(String::from_utf8_lossy(&replies), "+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n");
    assert!(engine.output(client).is_none());
}

/// Writes come faster than the devices take them, and are put off instead of refused.
#[test]
fn busy_store_delays_commands_in_their_order() {
    let device = MemoryLanes::new(4, 256, 8192, 512, Seed(1));
    let log = MemoryDisk::new(256 << 10, 512, Seed(1));
    let options = StoreOptions { memory_bytes: 128 << 10, ..StoreOptions::default() };
    let store = Store::create(device, log, 1, Slices::even(1), options).expect("the devices suit");
    let mut engine = Engine::new(store, ServerOptions::default());
    let clients: Vec<ClientId> = (0..8).map(|_| connect(&mut engine)).collect();
    let mut was_busy = false;
    for nth in 0..40 {
        for client in &clients {
            let command = format!("SET key {}{nth:02}\nINCR n\n", "v".repeat(2000));
            assert_eq!(engine.feed(*client, command.as_bytes()), command.len());
        }
        was_busy |= engine.writes.has_unsent();
    }
    while engine.is_busy() {
        engine.step(Duration::from_ms(1));
    }
    assert!(was_busy, "the store was never busy");
    let last = connect(&mut engine);
    expect(&mut engine, last, "GET n\nGETRANGE key -2 -1", "$3|320|$2|39");
    for client in clients {
        assert!(!engine_replies(&engine, client).contains('-'), "every write is accepted");
    }
}

#[test]
fn no_command_builds_a_string_longer_than_a_request() {
    let limits = crate::Limits { request_bytes_max: 1 << 20, ..crate::Limits::default() };
    let mut engine = engine_with(1, ServerOptions { limits, ..ServerOptions::default() });
    let client = connect(&mut engine);
    let refusal = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)";
    expect(&mut engine, client, "SETRANGE a 1048576 x", refusal);
    expect(&mut engine, client, "SETRANGE a 536870911 x", refusal);
    expect(&mut engine, client, "SETRANGE a 1048575 x", ":1048576");
    expect(&mut engine, client, "APPEND a y", refusal);
    expect(&mut engine, client, "STRLEN a", ":1048576");
}

#[test]
fn keys_of_tables_and_files_are_out_of_reach() {
    let mut engine = engine();
    let mut batch = flashlane_store::Batch::default();
    let row = flashlane_store::space::Space::Tables.bulk(b"row");
    batch.put(row.clone(), "value");
    let write = engine.store.write(batch, Durability::Device).expect("there is room");
    engine.store.wait(write).expect("it was accepted");
    let client = connect(&mut engine);
    expect(&mut engine, client, "KEYS *\nDBSIZE\nRANDOMKEY\nSCAN 0", "*0|:0|$-1|*2|$1|0|*0");
    expect(&mut engine, client, "SET \"\\x00FK\" 1\nSET b 2\nDBSIZE\nKEYS *", "+OK|+OK|:2|*2|$3|\0FK|$1|b");
    expect(&mut engine, client, "SCAN 0 COUNT 100", "*2|$1|0|*2|$3|\0FK|$1|b");
    let refused = "-ERR the key begins with bytes 00 46 4c, as those of tables and files do";
    for command in ["GET \"\\x00FLtdrow\"", "MSET a 1 \"\\x00FLx\" 2", "DEL b \"\\x00FL\""] {
        expect(&mut engine, client, command, refused);
    }
    expect(&mut engine, client, "FLUSHALL\nDBSIZE", "+OK|:0");
    let get = engine.store.get(&row, None);
    let found = engine.store.wait(get).expect("it was accepted").outcome;
    assert!(matches!(found, Outcome::Get(Ok(Some(value))) if value.bytes == b"value"));
}

#[test]
fn document_explains_every_metric() {
    let document = include_str!("../../../../docs/store.md");
    let page = engine().metrics();
    let names: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert!(names.len() > 20, "{page}");
    for name in names {
        assert!(document.contains(&format!("`{name}`")), "docs/store.md does not explain {name}");
    }
}

/// Returns an engine on a store with keys in blocks, of which one was in a unit that is damaged.
fn lossy_engine() -> TestEngine {
    let mut engine = engine();
    let client = connect(&mut engine);
    for key in 0..40 {
        call(&mut engine, client, &format!("SET k{key} {}", "v".repeat(2000)));
    }
    engine.store.flush();
    engine.store.settle();
    let address = engine.store.blocks().list().next().expect("there is a block").address;
    let (mut device, log) = engine.store.into_devices();
    let unit = address.unit as usize * (64 << 10);
    device.lane_mut(flashlane_device::Lane(address.lane))[unit..unit + (64 << 10)].fill(0x5a);
    let store = Store::open(device, log, StoreOptions::default()).expect("the rest is there");
    Engine::new(store, without_cache())
}

#[test]
fn keys_that_may_be_lost_are_errors_and_not_absent() {
    let mut engine = lossy_engine();
    let client = connect(&mut engine);
    let commands = "GET none|SETNX none 1|INCR none|APPEND none x|EXISTS none|DEL none|SET none 1 NX|GETSET none 1|\
                    DBSIZE|KEYS *|FLUSHALL|SCAN 0";
    for command in commands.split('|') {
        let reply = call(&mut engine, client, command);
        assert!(
            reply.starts_with("-ERR ") && reply.contains("1 damaged unit may have held"),
            "{command}: {reply}"
        );
    }
    // SCAN goes on with what is left, and a value that is set again is known.
    let reply = call(&mut engine, client, "SCAN 0");
    let cursor = reply.split("cursor ").nth(1).and_then(|text| text.split(' ').next()).expect("a cursor");
    let left = call(&mut engine, client, &format!("SCAN {cursor} COUNT 100"));
    assert!(left.starts_with("*2|$1|0|*"), "{left}");
    expect(&mut engine, client, "SET none 1\nINCR none\nDEL none\nSETNX none 2", "+OK|:2|:1|:1");
    let info = call(&mut engine, client, "INFO store");
    assert!(info.contains("damaged_units:1|keys_may_be_lost:1"), "{info}");
}

#[test]
fn overwriting_a_few_keys_never_fills_a_device_with_room() {
    let device = MemoryLanes::new(4, 8, 64 << 10, 512, Seed(1));
    let log = MemoryDisk::new(1 << 20, 512, Seed(1));
    let store = Store::create(device, log, 1, Slices::even(1), StoreOptions::default());
    let mut engine = Engine::new(store.expect("the devices suit"), without_cache());
    let clients: Vec<ClientId> = (0..40).map(|_| connect(&mut engine)).collect();
    let value = "x".repeat(1000);
    let mut replies = Vec::new();
    for round in 0..300 {
        for (nth, client) in clients.iter().enumerate() {
            let line = format!("SET key{} {value}\n", (round + nth) % 3);
            assert_eq!(engine.feed(*client, line.as_bytes()), line.len());
        }
        while engine.is_busy() {
            engine.step(Duration::from_ms(1));
        }
        clients.iter().for_each(|client| take(&mut engine, *client, &mut replies));
    }
    let replies = String::from_utf8(replies).unwrap();
    let refused = replies.lines().find(|line| *line != "+OK");
    assert_eq!((refused, replies.lines().count()), (None, 12_000));
}

#[test]
fn write_without_space_below_is_answered_with_the_cause() {
    let device = MemoryLanes::new(4, 64, 8192, 512, Seed(1));
    let log = MemoryDisk::new(256 << 10, 512, Seed(1));
    let store = Store::create(device, log, 1, Slices::even(1), StoreOptions::default());
    let (device, log) = store.expect("the devices suit").into_devices();
    let device = device.with_faults(MemoryFaults { no_space: 1.0, ..MemoryFaults::default() });
    let store = Store::open(device, log, StoreOptions::default()).expect("it was created");
    let mut engine = Engine::new(store, without_cache());
    let (client, value) = (connect(&mut engine), "x".repeat(2000));
    let mut replies = (0..1000).map(|nth| (nth, call(&mut engine, client, &format!("SET key{nth} {value}"))));
    let (failed, reply) = replies.find(|(_, reply)| reply != "+OK").expect("the log is full");
    assert!(reply.starts_with("-ERR ") && reply.contains("os error 28"), "{reply}");
    let last = call(&mut engine, client, &format!("STRLEN key{}", failed - 1));
    assert_eq!((last.as_str(), failed > 10), (":2000", true), "what was acknowledged is there");
    expect(&mut engine, client, &format!("EXISTS key{failed}"), ":0");
}
