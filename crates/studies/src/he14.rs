//! Bingsheng He, Jeffrey Xu Yu, Amelie Chi Zhou: Improving Update-Intensive Workloads on Flash Disks through Exploiting
//! Multi-Chip Parallelism. IEEE Transactions on Parallel and Distributed Systems, 2014.
//!
//! Page replication in the translation layer of `he-4g` (tables 1 and 2), under transactions that were recorded on
//! PostgreSQL: a fragmented drive without and with replication, and the same drive as new. Beside the paper's figures,
//! the study compares replication with today's remedies for blocked accesses: paced GC, suspended programs and erases,
//! and reads that are rebuilt from parity. Figure 7, tables 3 to 5 and the interference are of real drives below a
//! library: here the layer `replicated` over simulated ones.

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

use crate::FigureError;
use crate::lab::Lab;
use crate::study::{SharedMeasurement, Study};

/// The figures of the simulated drive that replicates, in all three workloads.
const OF_DRIVE: &[&str] = &["fig4", "fig5", "fig6", "rivals"];
const OF_TPC_C: &[&str] = &["fig4", "fig5", "fig6", "rivals", "sensitivity"];

const fn shared(
    name: &'static str,
    figures: &'static [&'static str],
    weight: u32,
    measure: fn(&mut Lab<'_>) -> Result<serde_json::Value, FigureError>,
) -> SharedMeasurement {
    SharedMeasurement { name, figures, weight, measure }
}

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
        shared("runs-tpc-c", OF_TPC_C, method::WEIGHT, |lab| method::all(lab, &method::TPC_C)),
        shared("runs-tpc-b", OF_DRIVE, method::WEIGHT, |lab| method::all(lab, &method::TPC_B)),
        shared("runs-tm-1", OF_DRIVE, method::WEIGHT, |lab| method::all(lab, &method::TM_1)),
        shared("runs-mtron", &["fig7", "table3", "interference"], layered::MTRON.weight(), |lab| {
            layered::all(lab, &layered::MTRON)
        }),
        shared("runs-x25-m", &["fig7", "interference"], layered::X25_M.weight(), |lab| {
            layered::all(lab, &layered::X25_M)
        }),
        shared("runs-x25-e", &["fig7", "table4", "interference"], layered::X25_E.weight(), |lab| {
            layered::all(lab, &layered::X25_E)
        }),
        shared(
            "runs-vector",
            &["fig7", "table4", "table5", "interference"],
            layered::VECTOR.weight(),
            |lab| layered::all(lab, &layered::VECTOR),
        ),
        shared("runs-335", &["fig7", "interference"], layered::I335.weight(), |lab| {
            layered::all(lab, &layered::I335)
        }),
    ],
};

#[cfg(test)]
mod tests;
