//! Figure 5: the gain from parallelism. Bandwidth of four patterns over request size and jobs, on both drives.

use super::method::{AREA, KIB, fill, mb_per_s, run};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row, row};
use flashlane_result::{Axis, Figure, Series, Warning};
use flashlane_workload::{Job, Mix, Pattern};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig5",
    "Section 5.1: parallelism brings small random reads 7.2 times the bandwidth; random reads then equal sequential ones; writes do not care for their pattern and outrun reads",
    measure,
);

const SEQUENTIAL_READS: usize = 0;
const RANDOM_READS: usize = 1;
const SEQUENTIAL_WRITES: usize = 2;
const RANDOM_WRITES: usize = 3;
const PATTERNS: [(&str, Pattern, Mix); 4] = [
    ("sequential reads", Pattern::Sequential, Mix::READ),
    ("random reads", Pattern::Random, Mix::READ),
    ("sequential writes", Pattern::Sequential, Mix::WRITE),
    ("random writes", Pattern::Random, Mix::WRITE),
];

/// Tolerance of each published number.
const WITHIN: f64 = 0.15;

/// All bandwidths of one drive in MB/s, by pattern, size and jobs.
struct Bandwidths {
    sizes_kib: &'static [u64],
    jobs: &'static [u32],
    values: Vec<f64>,
}

impl Bandwidths {
    fn at(&self, pattern: usize, kib: u64, jobs: u32) -> f64 {
        let size = self.sizes_kib.iter().position(|&size| size == kib).expect("the grid has the size");
        let depth = self.jobs.iter().position(|&depth| depth == jobs).expect("the grid has the depth");
        self.values[(pattern * self.sizes_kib.len() + size) * self.jobs.len() + depth]
    }

    /// Returns the bandwidths of a pattern from `kib` and `jobs` on.
    fn from(&self, pattern: usize, kib: u64, jobs: u32) -> impl Iterator<Item = f64> {
        let sizes = self.sizes_kib.iter().filter(move |&&size| size >= kib);
        sizes.flat_map(move |&size| {
            let depths = self.jobs.iter().filter(move |&&depth| depth >= jobs);
            depths.map(move |&depth| self.at(pattern, size, depth))
        })
    }
}

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let (s, m) = (bandwidths(lab, "ssd-s")?, bandwidths(lab, "ssd-m")?);
    let mut rows = numbers(&s);
    rows.extend(mlc_writes(&m));
    for (drive, b) in [("SSD-S", &s), ("SSD-M", &m)] {
        rows.extend(relations(drive, b));
    }
    let drives = [("SSD-S", "ssd-s", &s), ("SSD-M", "ssd-m", &m)];
    let figures =
        drives.iter().flat_map(|(drive, id, b)| (0..PATTERNS.len()).map(|p| figure(drive, id, b, p)));
    Ok(Outcome { rows, figures: figures.collect(), warnings: vec![part_pages()], ..Outcome::default() })
}

fn bandwidths(lab: &mut Lab<'_>, profile: &str) -> Result<Bandwidths, FigureError> {
    let sizes_kib: &'static [u64] = lab.either(&[1, 2, 4, 8, 16, 32, 64, 128, 256], &[4, 16, 64, 256]);
    let jobs: &'static [u32] = lab.either(&[1, 2, 3, 4, 6, 8, 10, 16, 24, 32], &[1, 2, 4, 8, 10, 32]);
    let most_requests = lab.either(8000, 6000);
    let mut values = Vec::new();
    for (name, pattern, mix) in &PATTERNS {
        for &kib in sizes_kib {
            // Enough for the mean of a deterministic drive, and at most 64 MiB.
            let requests = (64 * KIB / kib).clamp(300, most_requests);
            values.extend(lab.experiment(profile, &[], |bench| {
                fill(bench, AREA.length_bytes)?;
                let point = |&depth: &u32| {
                    let job = Job::new(*name, pattern.clone(), *mix, kib * KIB);
                    let job = job.depth(depth).area(AREA.offset_bytes, AREA.length_bytes);
                    run(bench, vec![job], requests).map(|run| mb_per_s(&run))
                };
                jobs.iter().map(point).collect::<Result<Vec<f64>, _>>()
            })?);
        }
    }
    Ok(Bandwidths { sizes_kib, jobs, values })
}

/// The numbers in the text, all of SSD-S.
fn numbers(s: &Bandwidths) -> Vec<Row> {
    let near = |quantity, published, measured| row::near(quantity, published, measured, "MB/s", WITHIN);
    let reads = |jobs| s.at(RANDOM_READS, 4, jobs);
    let writes = s.at(SEQUENTIAL_WRITES, 4, 32);
    let scan = s.at(SEQUENTIAL_READS, 64, 1);
    let peak = s.from(SEQUENTIAL_WRITES, 1, 1).fold(0.0, f64::max);
    vec![
        near("SSD-S: random reads of 4 KB, 1 job", 21.3, reads(1)),
        near("SSD-S: random reads of 4 KB, 32 jobs", 145.0, reads(32)),
        row::near("SSD-S: random reads of 4 KB, 32 jobs over 1", 7.2, reads(32) / reads(1), "", WITHIN),
        near("SSD-S: random reads of 16 KB, 1 job", 65.5, s.at(RANDOM_READS, 16, 1)),
        near("SSD-S: random reads of 16 KB, 32 jobs", 225.5, s.at(RANDOM_READS, 16, 32)),
        near("SSD-S: sequential reads of 64 KB, 1 job", 221.3, scan),
        near("SSD-S: writes of 4 KB, 32 jobs", 186.1, writes),
        row::near("SSD-S: writes over random reads of 4 KB, 32 jobs", 1.283, writes / reads(32), "", WITHIN),
        near("SSD-S: highest bandwidth of writes", 200.0, peak),
    ]
}

fn mlc_writes(m: &Bandwidths) -> Vec<Row> {
    // "Quickly" in the paper: from small requests and few jobs on.
    let flat = || m.from(SEQUENTIAL_WRITES, 4, 4);
    let (least, most) = (flat().fold(f64::INFINITY, f64::min), flat().fold(0.0, f64::max));
    let near = |quantity, measured| row::near(quantity, 80.0, measured, "MB/s", WITHIN);
    vec![
        near("SSD-M: lowest bandwidth of writes, from 4 KB and 4 jobs on", least),
        near("SSD-M: highest bandwidth of writes", most),
    ]
}

/// Statements of the text on both drives.
fn relations(drive: &str, b: &Bandwidths) -> Vec<Row> {
    let reads = |jobs| b.at(RANDOM_READS, 4, jobs);
    let at_ten = (reads(10) - reads(1)) / (reads(32) - reads(1));
    let sequential: Vec<f64> = b.from(SEQUENTIAL_WRITES, 4, 1).collect();
    let ratios = b.from(RANDOM_WRITES, 4, 1).zip(sequential).map(|(random, sequential)| random / sequential);
    let furthest = ratios.fold(1.0, |a: f64, r| if (r - 1.0).abs() > (a - 1.0).abs() { r } else { a });
    let scan = |jobs| b.at(SEQUENTIAL_READS, 4, jobs);
    vec![
        row::at_least(
            &format!("{drive}: random reads of 4 KB, share of the gain that 10 of 32 jobs bring"),
            "most",
            at_ten,
            "",
            0.75,
        ),
        row::near(
            &format!("{drive}: random over sequential writes, furthest from 1, 4 KB and more"),
            1.0,
            furthest,
            "",
            WITHIN,
        ),
        row::between(
            &format!("{drive}: sequential reads of 4 KB, 4 jobs over 2"),
            "a slight dip",
            scan(4) / scan(2),
            "",
            (0.75, 0.99),
        ),
        row::at_least(
            &format!("{drive}: sequential reads of 4 KB, 8 jobs over 2"),
            "the dip is over",
            scan(8) / scan(2),
            "",
            1.0,
        ),
    ]
}

fn part_pages() -> Warning {
    Warning::new(
        "random-writes-of-part-pages",
        "fig5: random writes below the page of 4 KB are slower here than sequential ones, because the rest of the page has to be read; the paper shows no curve of random writes",
    )
}

fn figure(drive: &str, id: &str, b: &Bandwidths, pattern: usize) -> Figure {
    let (name, ..) = PATTERNS[pattern];
    let curves = b.sizes_kib.iter().map(|&kib| Series {
        name: format!("{kib} KB"),
        points: b.jobs.iter().map(|&jobs| (f64::from(jobs), b.at(pattern, kib, jobs))).collect(),
        scatter: false,
        ..Series::default()
    });
    let published = published(id, pattern).iter().map(|&(label, points)| Series {
        name: format!("published, {label}"),
        points: points.to_vec(),
        scatter: true,
        ..Series::default()
    });
    Figure {
        id: format!("fig5-{id}-{}", name.replace(' ', "-")),
        title: format!("{drive}: {name}"),
        x: Axis::linear("jobs", ""),
        y: Axis::linear("bandwidth", "MB/s"),
        series: curves.chain(published).collect(),
        marks: Vec::new(),
        caption: "One curve a request size; points are numbers that the paper's text gives.".into(),
    }
}

/// Request size, and jobs with MB/s.
type Published = (&'static str, &'static [(f64, f64)]);

/// Numbers from the text.
fn published(drive: &str, pattern: usize) -> &'static [Published] {
    match (drive, pattern) {
        ("ssd-s", SEQUENTIAL_READS) => &[("64 KB", &[(1.0, 221.3)])],
        ("ssd-s", RANDOM_READS) => {
            &[("4 KB", &[(1.0, 21.3), (32.0, 145.0)]), ("16 KB", &[(1.0, 65.5), (32.0, 225.5)])]
        }
        ("ssd-s", SEQUENTIAL_WRITES) => &[("4 KB", &[(32.0, 186.1)])],
        ("ssd-m", SEQUENTIAL_WRITES) => &[("all sizes", &[(32.0, 80.0)])],
        _ => &[],
    }
}
