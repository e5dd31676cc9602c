//! Samples in runs, packed so that a page can hold millions.
//!
//! A response time is stored as a power of [`STEP`], in 16 bits that range from 1 ns to centuries, with an error of at
//! most half a step, 0.05%, which is less than a screen shows. Runs follow each other in blocks; a block has first the
//! low bytes of all codes, then the high ones, then operations and times if any, since similar bytes deflate best
//! together. Cost: a byte or two per request.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// Ratio of successive codes.
pub(crate) const STEP: f64 = 1.001;

/// Requests per block; a longer run has its own block.
const BLOCK: usize = 1 << 18;

/// Samples of a result, by run.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleRuns {
    /// Titles of the parts of a run's name; empty for a single run.
    pub levels: Vec<String>,
    /// Name of a request: `I/O`.
    pub counted: &'static str,
    /// The kinds of request, by their code.
    pub kinds: Vec<&'static str>,
    pub runs: Vec<Run>,
    /// Whether requests have times; otherwise they are numbered.
    pub is_timed: bool,
}

/// The requests of one run, in order of submission.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// One part for each level.
    pub name: Vec<String>,
    /// Requests at the beginning that were not counted.
    pub ignored: u64,
    pub latency_ns: Vec<u64>,
    /// Submission times, if recorded.
    pub submitted_ns: Vec<u64>,
    /// Kind of each request; empty with a single kind.
    pub kind: Vec<u8>,
}

/// Runs in the format of a page.
pub(crate) struct Packed {
    /// Position of each run.
    pub places: Vec<Place>,
    /// Deflated blocks, with their numbers of requests.
    pub blocks: Vec<(usize, Vec<u8>)>,
}

/// Position of a run: its block and the requests before it in the block.
pub(crate) struct Place {
    pub block: usize,
    pub first: usize,
    /// Unit of its times, in nanoseconds.
    pub tick_ns: u64,
}

impl SampleRuns {
    /// Creates one run of several kinds of requests, sorted by submission; `None` without requests, or with an unknown
    /// operation.
    pub fn over_time(submitted_ns: &[u64], latency_ns: &[u64], operation: &[u64]) -> Option<Self> {
        let kinds = vec!["reads", "writes", "trims", "flushes", "appends"];
        let is_known = |&code: &u64| (code as usize) < kinds.len();
        if !operation.iter().all(is_known) {
            return None;
        }
        let mut order: Vec<usize> = (0..submitted_ns.len()).collect();
        order.sort_by_key(|at| submitted_ns[*at]);
        let first_ns = submitted_ns[*order.first()?];
        let run = Run {
            latency_ns: order.iter().map(|at| latency_ns[*at]).collect(),
            submitted_ns: order.iter().map(|at| submitted_ns[*at] - first_ns).collect(),
            kind: order.iter().map(|at| operation[*at] as u8).collect(),
            ..Run::default()
        };
        Some(Self { counted: "Request", kinds, runs: vec![run], is_timed: true, ..Self::default() })
    }

    /// Packs the runs into deflated blocks.
    pub fn pack(&self) -> Packed {
        let mut packed = Packed { places: Vec::new(), blocks: Vec::new() };
        let mut begun = 0;
        let mut held = 0;
        for (at, run) in self.runs.iter().enumerate() {
            if held > 0 && held + run.latency_ns.len() > BLOCK {
                packed.blocks.push(self.block(&self.runs[begun..at], &packed.places[begun..]));
                (begun, held) = (at, 0);
            }
            let span_ns = run.submitted_ns.last().copied().unwrap_or(0);
            let tick_ns = span_ns / u64::from(u32::MAX) + 1;
            packed.places.push(Place { block: packed.blocks.len(), first: held, tick_ns });
            held += run.latency_ns.len();
        }
        if begun < self.runs.len() {
            packed.blocks.push(self.block(&self.runs[begun..], &packed.places[begun..]));
        }
        packed
    }

    fn block(&self, runs: &[Run], places: &[Place]) -> (usize, Vec<u8>) {
        let codes: Vec<u16> = runs.iter().flat_map(|run| &run.latency_ns).map(|&ns| code(ns)).collect();
        let mut planes: Vec<Vec<u8>> =
            (0..2).map(|byte| plane(&codes, |code| code.to_le_bytes()[byte])).collect();
        if self.kinds.len() > 1 || self.is_timed {
            planes.push(runs.iter().flat_map(|run| &run.kind).copied().collect());
        }
        if self.is_timed {
            let deltas: Vec<u32> =
                runs.iter().zip(places).flat_map(|(run, place)| deltas(run, place.tick_ns)).collect();
            planes.extend((0..4).map(|byte| plane(&deltas, |delta| delta.to_le_bytes()[byte])));
        }
        let mut out = ZlibEncoder::new(Vec::new(), Compression::new(7));
        for plane in &planes {
            out.write_all(plane).expect("memory takes what it is given");
        }
        (codes.len(), out.finish().expect("memory takes what it is given"))
    }
}

/// Returns 0 for a response time of zero, else 1 plus the number of steps above 1 ns.
fn code(ns: u64) -> u16 {
    if ns == 0 { 0 } else { ((ns as f64).ln() / STEP.ln()).round() as u16 + 1 }
}

fn plane<T: Copy>(values: &[T], byte: impl Fn(T) -> u8) -> Vec<u8> {
    values.iter().map(|value| byte(*value)).collect()
}

/// Returns the differences of successive times in ticks, rounded so that errors do not accumulate.
fn deltas(run: &Run, tick_ns: u64) -> impl Iterator<Item = u32> {
    let mut last = 0;
    run.submitted_ns.iter().map(move |at| {
        let tick = at / tick_ns;
        let delta = tick - last;
        last = tick;
        u32::try_from(delta).expect("a run's span is within 32 bits of ticks")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;
    use proptest::prelude::*;
    use std::io::Read;

    /// Decodes as the page does.
    fn time_ns(code: u16) -> f64 {
        if code == 0 { 0.0 } else { STEP.powi(i32::from(code) - 1) }
    }

    fn inflated(block: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        ZlibDecoder::new(block).read_to_end(&mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn code_error_is_below_a_twentieth_of_a_percent(ns in prop_oneof![any::<u64>(), 0..10_000_000_u64]) {
            let back = time_ns(code(ns));
            prop_assert!((back - ns as f64).abs() <= 0.000_5 * ns as f64, "{ns} {back}");
        }

        #[test]
        fn block_preserves_times_and_kinds(
            mut submitted_ns in prop::collection::vec(0..u64::MAX / 2, 1..200), kind in 0..4_u64,
        ) {
            submitted_ns.sort_unstable();
            let count = submitted_ns.len();
            let samples = SampleRuns::over_time(&submitted_ns, &vec![1000; count], &vec![kind; count]).unwrap();
            let packed = samples.pack();
            let bytes = inflated(&packed.blocks[0].1);
            prop_assert_eq!(bytes.len(), 7 * count);
            let tick_ns = packed.places[0].tick_ns;
            let mut now = 0_u64;
            for at in 0..count {
                let byte = |plane: usize| bytes[plane * count + at];
                prop_assert_eq!(u64::from(byte(2)), kind);
                now += u64::from(u32::from_le_bytes([byte(3), byte(4), byte(5), byte(6)]));
                let off = (submitted_ns[at] - submitted_ns[0]).abs_diff(now * tick_ns);
                prop_assert!(off < tick_ns, "{off} of {tick_ns}");
            }
        }
    }

    #[test]
    fn runs_share_a_block_until_it_is_full() {
        let run = |count: usize| Run { latency_ns: vec![5; count], ..Run::default() };
        let runs = vec![run(10), run(0), run(BLOCK - 10), run(1), run(2 * BLOCK), run(3)];
        let packed = SampleRuns { runs, kinds: vec!["I/Os"], ..SampleRuns::default() }.pack();
        let places: Vec<_> = packed.places.iter().map(|place| (place.block, place.first)).collect();
        assert_eq!(places, [(0, 0), (0, 10), (0, 10), (1, 0), (2, 0), (3, 0)]);
        let sizes: Vec<usize> = packed.blocks.iter().map(|block| block.0).collect();
        assert_eq!(sizes, [BLOCK, 1, 2 * BLOCK, 3]);
        assert_eq!(inflated(&packed.blocks[1].1), [code(5).to_le_bytes()[0], code(5).to_le_bytes()[1]]);
    }

    #[test]
    fn requests_are_sorted_and_unknown_operations_refused() {
        assert!(SampleRuns::over_time(&[], &[], &[]).is_none());
        assert!(SampleRuns::over_time(&[1, 2], &[1, 1], &[0, 9]).is_none());
        let samples = SampleRuns::over_time(&[20, 10], &[7, 8], &[0, 1]).unwrap();
        let run = &samples.runs[0];
        assert_eq!(
            (&run.latency_ns[..], &run.submitted_ns[..], &run.kind[..]),
            (&[8, 7][..], &[0, 10][..], &[1, 0][..])
        );
    }
}
