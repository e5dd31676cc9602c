//! Xiaojun Ruan, Mohammed I. Alghamdi, Xunfei Jiang, Ziliang Zong, Yun Tian, Xiao Qin: Improving Write Performance by
//! Enhancing Internal Parallelism of Solid State Drives. IPCCC 2012.
//!
//! A write buffer below the translation layer with two policies: `lru`, whose pages drain in one queue, and the paper's
//! `parallel`, with a queue per package. The drive is `msr-64g` (table I). Besides the paper's figures, the study
//! measures its estimates and future work: the share of drains that keep every package busy, the erases that a buffer
//! saves, and idle draining.

mod drains;
mod erases;
mod fig3;
mod fig4abc;
mod fig4d;
mod fig4e;
mod fig4f;
mod idle;
mod method;
mod workload;

use crate::study::Study;

pub(crate) const STUDY: Study = Study {
    paper: "ruan12",
    title: "Ruan, Alghamdi, Jiang, Zong, Tian, Qin: Improving Write Performance by Enhancing Internal Parallelism of Solid State Drives, IPCCC 2012",
    figures: &[
        fig3::FIGURE,
        fig4abc::FIGURE,
        fig4d::FIGURE,
        fig4e::FIGURE,
        fig4f::FIGURE,
        drains::FIGURE,
        erases::FIGURE,
        idle::FIGURE,
    ],
    shared: &[],
};

#[cfg(test)]
mod tests;
