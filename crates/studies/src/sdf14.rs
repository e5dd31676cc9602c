//! Jian Ouyang, Shiding Lin, Song Jiang, Zhenyu Hou, Yong Wang, Yuanzheng Wang: SDF: Software-Defined Flash for
//! Web-Scale Internet Storage Systems. ASPLOS 2014.
//!
//! The same flash twice: exposed to software by channel (`sdf`), and behind one translation layer with striping,
//! parity, GC and a buffer (`huawei-gen3`); also `intel-320` and, in table 1, `memblaze-q520-like`. Figures 10 to 14
//! have the store on top.

mod capacity;
mod clients;
mod drives;
mod fig1;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig14;
mod fig7;
mod fig8;
mod node;
mod table1;
mod table4;

use crate::study::{SharedMeasurement, Study};

/// The figures that need random gets.
const OF_GETS: &[&str] = &["fig10", "fig11", "fig12"];

pub(crate) const STUDY: Study = Study {
    paper: "sdf14",
    title: "Ouyang, Lin, Jiang, Hou, Wang, Wang: SDF: Software-Defined Flash for Web-Scale Internet Storage Systems, ASPLOS 2014",
    figures: &[
        table1::FIGURE,
        fig1::FIGURE,
        table4::FIGURE,
        fig7::FIGURE,
        fig8::FIGURE,
        fig10::FIGURE,
        fig11::FIGURE,
        fig12::FIGURE,
        fig13::FIGURE,
        fig14::FIGURE,
        capacity::FIGURE,
    ],
    shared: &[
        SharedMeasurement {
            name: "sdf-gets",
            figures: OF_GETS,
            weight: node::GETS_WEIGHT,
            measure: |lab| node::gets(lab, node::SDF),
        },
        SharedMeasurement {
            name: "gen3-gets",
            figures: OF_GETS,
            weight: node::GETS_WEIGHT,
            measure: |lab| node::gets(lab, node::ON_GEN3),
        },
    ],
};

#[cfg(test)]
mod tests;
