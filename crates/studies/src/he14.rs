//! Bingsheng He, Jeffrey Xu Yu, Amelie Chi Zhou: Improving Update-Intensive Workloads on Flash Disks through Exploiting
//! Multi-Chip Parallelism. IEEE Transactions on Parallel and Distributed Systems, 2014.
//!
//! Page replication in the translation layer of `he-4g` (tables 1 and 2), under transactions that were recorded on
//! PostgreSQL: a fragmented drive without and with replication, and the same drive as new. Beside the paper's figures, the
//! study compares replication with today's remedies for blocked accesses: paced GC, suspended programs and erases, and
//! reads that are rebuilt from parity.
//! Figure 7 is of real drives below a library: here the layer `replicated` over simulated ones.

mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod interference;
mod layered;
mod method;
mod rivals;
mod sensitivity;
mod table3;
mod table4;
mod table5;

use crate::study::{SharedMeasurement, Study};

/// The figures that compare runs of all three workloads.
const OF_RUNS: &[&str] = &["fig4", "fig5", "fig6", "table3", "table4", "table5", "interference", "rivals"];

pub(crate) const STUDY: Study = Study {
    paper: "he14",
    title: "He, Yu, Zhou: Improving Update-Intensive Workloads on Flash Disks through Exploiting Multi-Chip Parallelism, IEEE TPDS 2014",
    figures: &[
        fig4::FIGURE,
        fig5::FIGURE,
        fig6::FIGURE,
        fig7::FIGURE,
        table3::FIGURE,
        table4::FIGURE,
        table5::FIGURE,
        interference::FIGURE,
        sensitivity::FIGURE,
        rivals::FIGURE,
    ],
    shared: &[
        SharedMeasurement {
            name: "runs-tpc-c",
            figures: OF_RUNS,
            weight: method::WEIGHT,
            measure: |lab| method::all(lab, &method::TPC_C),
        },
        SharedMeasurement {
            name: "runs-tpc-b",
            figures: OF_RUNS,
            weight: method::WEIGHT,
            measure: |lab| method::all(lab, &method::TPC_B),
        },
        SharedMeasurement {
            name: "runs-tm-1",
            figures: OF_RUNS,
            weight: method::WEIGHT,
            measure: |lab| method::all(lab, &method::TM_1),
        },
        SharedMeasurement {
            name: layered::MTRON.runs,
            figures: &["fig7"],
            weight: layered::WEIGHT,
            measure: |lab| layered::all(lab, &layered::MTRON),
        },
        SharedMeasurement {
            name: layered::X25_M.runs,
            figures: &["fig7"],
            weight: layered::WEIGHT,
            measure: |lab| layered::all(lab, &layered::X25_M),
        },
        SharedMeasurement {
            name: layered::X25_E.runs,
            figures: &["fig7"],
            weight: layered::WEIGHT,
            measure: |lab| layered::all(lab, &layered::X25_E),
        },
        SharedMeasurement {
            name: layered::VECTOR.runs,
            figures: &["fig7"],
            weight: layered::WEIGHT,
            measure: |lab| layered::all(lab, &layered::VECTOR),
        },
        SharedMeasurement {
            name: layered::I335.runs,
            figures: &["fig7"],
            weight: layered::WEIGHT,
            measure: |lab| layered::all(lab, &layered::I335),
        },
    ],
};

#[cfg(test)]
mod tests;
