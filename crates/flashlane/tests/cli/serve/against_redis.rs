//! The same random commands to a real redis-server and to ours: replies must be the same, but for these allowed
//! differences, which `docs/store.md` explains:
//!
//! - keys that begin with `00 46 4c` are refused, and not drawn here;
//! - elements of KEYS, SCAN, HGETALL, HKEYS, HVALS, HSCAN and RANDOMKEY come in another order, and SCAN's cursors
//!   differ;
//! - commands of other types are unknown;
//! - commands on all keys are refused in a transaction, and unknown subcommands only by EXEC;
//! - CLIENT SETINFO is known, as in Redis 7.2;
//! - INCRBYFLOAT and HINCRBYFLOAT may differ behind the 17th digit;
//! - a time to live may be read a millisecond later (compared in seconds, within one).

use super::{Serving, has};
use crate::serve::client::Client;
use flashlane_base::{Random, Seed};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// Commands compared, of which half come in pipelines.
const COMMANDS: usize = 4000;

/// Commands that a transaction refuses, or only when it runs, or whose replies would have to be changed within that of
/// EXEC.
const NOT_COLLECTED: &[&str] = &["dbsize", "flushall", "ttl", "config", "command", "object", "client"];

/// Commands whose elements have no order.
const UNORDERED: &[&str] = &["keys", "hgetall", "hkeys", "hvals", "hscan", "scan"];

struct Redis {
    child: Child,
    _dir: tempfile::TempDir,
    port: u16,
}

impl Redis {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let port_text = port.to_string();
        let child = Command::new("redis-server")
            .args(["--port", &port_text, "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"])
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut redis = Self { child, _dir: dir, port };
        let mut lines = BufReader::new(redis.child.stdout.take().unwrap()).lines();
        let ready = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("Ready to accept")));
        assert!(ready.is_some(), "redis-server does not listen");
        redis
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pick<'a>(random: &mut Random, from: &[&'a str]) -> &'a str {
    from[random.below(from.len() as u64) as usize]
}

fn key(random: &mut Random) -> String {
    pick(random, &["a", "b", "c", "n", "m", "h", "i", "", "long key", "\0F", "x{1}"]).to_owned()
}

fn value(random: &mut Random) -> String {
    match random.below(6) {
        0 => (random.below(200) as i64 - 100).to_string(),
        1 => pick(
            random,
            &["", "abc", "\0FL", "\0FLsx", "\0FLh", " 1", "01", "1e3", "9223372036854775807", "3.5", "nan"],
        )
        .to_owned(),
        2 => "v".repeat(random.below(3000) as usize),
        _ => format!("value{}", random.below(1000)),
    }
}

fn number(random: &mut Random) -> String {
    match random.below(12) {
        0 => pick(
            random,
            &["x", "", "9223372036854775807", "-9223372036854775808", "1.5", "99999999999999999999"],
        )
        .to_owned(),
        _ => (random.below(21) as i64 - 10).to_string(),
    }
}

/// Returns a random command.
fn command(random: &mut Random) -> Vec<Vec<u8>> {
    let field = |random: &mut Random| pick(random, &["f", "g", "1", "", "field"]).to_owned();
    // Wrong ones, or far ahead: no key expires while the commands run.
    let seconds = |random: &mut Random| match random.below(6) {
        0 => pick(random, &["x", "", "0", "-5", "1.5", "9223372036854775807"]).to_owned(),
        _ => (1000 + random.below(1000)).to_string(),
    };
    let mut words: Vec<String> = Vec::new();
    let mut push = |word: &str| words.push(word.to_owned());
    match random.below(33) {
        0..5 => ["set", &key(random), &value(random)].iter().for_each(|word| push(word)),
        5..9 => ["get", &key(random)].iter().for_each(|word| push(word)),
        9 | 10 => {
            ["set", &key(random), &value(random)].iter().for_each(|word| push(word));
            for _ in 0..1 + random.below(3) {
                match random.below(7) {
                    0 => push("NX"),
                    1 => push("xx"),
                    2 => push("get"),
                    3 => push("KeepTTL"),
                    4 => ["EX", &seconds(random)].iter().for_each(|word| push(word)),
                    5 => ["px", &(seconds(random) + "000")].iter().for_each(|word| push(word)),
                    _ => push(pick(random, &["foo", "PXAT", "EXAT", "ex"])),
                }
            }
        }
        11 => {
            let name = pick(random, &["incr", "decr", "strlen", "type", "persist", "ttl", "getdel", "getex"]);
            [name, &key(random)].iter().for_each(|word| push(word));
        }
        12 => ["incrby", &key(random), &number(random)].iter().for_each(|word| push(word)),
        13 => ["decrby", &key(random), &number(random)].iter().for_each(|word| push(word)),
        14 => ["append", &key(random), &value(random)].iter().for_each(|word| push(word)),
        15 => {
            let by = pick(random, &["0.5", "-1.25", "3", "1e2", "x", "inf", ""]);
            // Sums of these have few digits.
            ["incrbyfloat", "float", by].iter().for_each(|word| push(word));
        }
        16 => ["getrange", &key(random), &number(random), &number(random)].iter().for_each(|word| push(word)),
        17 => ["setrange", &key(random), &number(random), &value(random)].iter().for_each(|word| push(word)),
        18 => {
            push(pick(random, &["mget", "del", "exists", "unlink", "touch"]));
            (0..1 + random.below(4)).for_each(|_| push(&key(random)));
        }
        19 => {
            push(pick(random, &["mset", "mset", "msetnx"]));
            (0..1 + random.below(5)).for_each(|_| push(&key(random)));
        }
        20 => {
            let name = pick(random, &["setnx", "getset"]);
            [name, &key(random), &value(random)].iter().for_each(|word| push(word));
        }
        21 => {
            let name = pick(random, &["setex", "psetex"]);
            let seconds = seconds(random) + if name == "psetex" { "000" } else { "" };
            [name, &key(random), &seconds, &value(random)].iter().for_each(|word| push(word));
        }
        22 => {
            ["expire", &key(random), &seconds(random)].iter().for_each(|word| push(word));
            if random.below(2) == 0 {
                push(pick(random, &["NX", "XX", "GT", "LT", "foo"]));
            }
        }
        23 => {
            let option = pick(random, &["EX", "persist", "PX", "foo"]);
            ["getex", &key(random), option, &seconds(random)].iter().for_each(|word| push(word));
        }
        24 => {
            let name = pick(random, &["rename", "renamenx"]);
            [name, &key(random), &key(random)].iter().for_each(|word| push(word));
        }
        25 | 26 => {
            push(pick(random, &["hset", "hset", "hmset", "hsetnx"]));
            push(pick(random, &["h", "i", "a"]));
            (0..2 * (1 + random.below(2))).for_each(|_| push(&field(random)));
        }
        27 | 28 => {
            let name = pick(random, &["hget", "hexists", "hdel", "hmget", "hstrlen"]);
            [name, pick(random, &["h", "i", "a"]), &field(random)].iter().for_each(|word| push(word));
        }
        29 => {
            let name = pick(random, &["hgetall", "hkeys", "hvals", "hlen", "hscan"]);
            [name, pick(random, &["h", "i", "a"])].iter().for_each(|word| push(word));
            if name == "hscan" {
                push("0");
            }
        }
        30 => {
            let (name, by) = if random.below(2) == 0 {
                ("hincrby", number(random))
            } else {
                ("hincrbyfloat", "0.5".into())
            };
            [name, pick(random, &["h", "i", "a"]), &field(random), &by].iter().for_each(|word| push(word));
        }
        31 => {
            let all: &[&[&str]] = &[
                &["dbsize"],
                &["keys", "*"],
                &["keys", "[a-c]"],
                &["scan", "0", "count", "1000"],
                &["scan", "x"],
                &["scan", "0", "count", "0"],
                &["scan", "0", "count", "1000", "type", "hash"],
                &["ping"],
                &["ping", "a", "b"],
                &["echo", "x"],
                &["select", "0"],
                &["nosuch", "a"],
                &["get"],
                &["wait", "0", "0"],
                &["object", "nosuch", "a"],
                &["config", "nosuch"],
                &["command", "nosuch"],
                &["client", "setname", "a b"],
                &["watch"],
                &["exec"],
                &["discard"],
            ];
            let chosen = all[random.below(all.len() as u64) as usize];
            chosen.iter().for_each(|word| push(word));
        }
        _ => match random.below(8) {
            0 => push("flushall"),
            1..4 => push("multi"),
            4 => push("discard"),
            5 => ["watch", &key(random)].iter().for_each(|word| push(word)),
            _ => push("exec"),
        },
    }
    words.into_iter().map(String::into_bytes).collect()
}

/// Removes what may differ.
fn normalize(words: &[Vec<u8>], reply: String) -> String {
    let name = String::from_utf8_lossy(&words[0]).to_lowercase();
    if UNORDERED.contains(&name.as_str()) && reply.starts_with('[') {
        let flat = reply.replace(['[', ']'], "");
        let mut elements: Vec<&str> = flat.split(", ").collect();
        elements.sort_unstable();
        return elements.join(", ");
    }
    reply
}

/// Whether both servers gave one reply. Each reads its clock when it sets a time and when it answers, so that times to
/// live may lie on both sides of a half second, to which they are rounded.
fn agree(words: &[Vec<u8>], their: &str, our: &str) -> bool {
    let seconds = |reply: &str| reply.strip_prefix(':').and_then(|number| number.parse::<u64>().ok());
    match (seconds(their), seconds(our)) {
        (Some(their), Some(our)) if words[0].eq_ignore_ascii_case(b"ttl") => their.abs_diff(our) <= 1,
        _ => their == our,
    }
}

#[test]
fn replies_are_those_of_redis() {
    if !has("redis-server") {
        return;
    }
    compare("with a cache", &[]);
    compare("without a cache", &["--cache", "0B"]);
}

fn compare(seed: &str, arguments: &[&str]) {
    let arguments = [&["--durability", "memory"], arguments].concat();
    let (redis, serving) = (Redis::start(), Serving::new(&arguments));
    let (mut theirs, mut ours) = (Client::connect(redis.port), serving.client());
    let mut random = Seed(7).derive(seed).source();
    let mut history: Vec<String> = Vec::new();
    let (mut done, mut is_in_transaction) = (0, false);
    while done < COMMANDS {
        let pipelined = if random.below(2) == 0 { 1 } else { 1 + random.below(20) };
        let mut commands = Vec::new();
        for _ in 0..pipelined {
            let command = command(&mut random);
            let name = String::from_utf8_lossy(&command[0]).into_owned();
            // Commands on all keys are refused in a transaction, and replies in it are not sorted.
            let is_excluded = UNORDERED.contains(&name.as_str()) || NOT_COLLECTED.contains(&&*name);
            if is_in_transaction && is_excluded {
                continue;
            }
            match name.as_str() {
                "multi" => is_in_transaction = true,
                "exec" | "discard" if command.len() == 1 => is_in_transaction = false,
                _ => {}
            }
            commands.push(command);
        }
        for command in &commands {
            theirs.send(command);
            ours.send(command);
        }
        for command in &commands {
            let text: Vec<String> = command.iter().map(|word| word.escape_ascii().to_string()).collect();
            history.push(text.join(" "));
            let (their, our) = (normalize(command, theirs.read()), normalize(command, ours.read()));
            let from = history.len().saturating_sub(12);
            let behind = history[from..].join("\n");
            assert!(agree(command, &their, &our), "{our}, not {their}: command {done}, behind\n{behind}");
            done += 1;
        }
    }
}
