//! A word count as MapReduce programs do it: the whole text in memory, threads that take a piece each and count into
//! tables of their own, the tables joined and sorted by count. With less memory than text it lives on swap space.
//!
//! `word_count write FILE BYTES WORDS SEED` makes a text; `word_count count FILE THREADS` counts.

use std::collections::HashMap;
use std::env::args;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Text that a thread takes at a time.
const PIECE_BYTES: usize = 1 << 20;

fn main() {
    let given: Vec<String> = args().skip(1).collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("'{text}' is not a number"));
    match given[..] {
        ["write", file, bytes, words, seed] => write(file, number(bytes), number(words), number(seed)),
        ["count", file, threads] => count(file, number(threads) as usize),
        _ => panic!("see the head of this file"),
    }
}

/// Words of 3 to 12 letters; the frequent ones are frequent as in a language (the n-th about 1/n as often).
fn write(file: &str, bytes: u64, words: u64, seed: u64) {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let vocabulary: Vec<String> = (0..words)
        .map(|_| (0..3 + random() % 10).map(|_| char::from(b'a' + (random() % 26) as u8)).collect())
        .collect();
    let mut out = BufWriter::new(File::create(file).expect("the text can be made"));
    let (mut written, mut column) = (0, 0);
    while written < bytes {
        let share = random() as f64 / (1_u64 << 31) as f64;
        let word = &vocabulary[((words as f64).powf(share) as usize).min(vocabulary.len() - 1)];
        column += word.len() + 1;
        let end = if column > 72 { "\n" } else { " " };
        column = if column > 72 { 0 } else { column };
        write!(out, "{word}{end}").expect("the text can be written");
        written += word.len() as u64 + 1;
    }
    out.flush().expect("the text can be written");
}

fn count(file: &str, threads: usize) {
    let text = fs::read(file).expect("the text can be read");
    let next = AtomicUsize::new(0);
    let tables: Vec<HashMap<&[u8], u64>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| count_pieces(&text, &next))).collect();
        workers.into_iter().map(|worker| worker.join().expect("a thread counts")).collect()
    });
    let mut all: HashMap<&[u8], u64> = HashMap::new();
    for table in tables {
        for (word, count) in table {
            *all.entry(word).or_default() += count;
        }
    }
    let mut sorted: Vec<_> = all.into_iter().collect();
    sorted.sort_by_key(|&(word, count)| (std::cmp::Reverse(count), word));
    for (word, count) in sorted.iter().take(10) {
        eprintln!("{count:>10} {}", String::from_utf8_lossy(word));
    }
}

fn count_pieces<'a>(text: &'a [u8], next: &AtomicUsize) -> HashMap<&'a [u8], u64> {
    let mut table = HashMap::new();
    loop {
        let from = next.fetch_add(PIECE_BYTES, Ordering::Relaxed);
        if from >= text.len() {
            return table;
        }
        // A word belongs to the piece in which it begins.
        let blank = |at: usize| text[at].is_ascii_whitespace();
        let begin = (from..text.len()).find(|&at| from == 0 || blank(at - 1)).unwrap_or(text.len());
        let end = (from + PIECE_BYTES..text.len()).find(|&at| blank(at - 1)).unwrap_or(text.len());
        for word in text[begin..end.max(begin)].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            *table.entry(word).or_default() += 1;
        }
    }
}
