//! Jian Ouyang, Shiding Lin, Song Jiang, Zhenyu Hou, Yong Wang, Yuanzheng Wang: SDF: Software-Defined Flash for
//! Web-Scale Internet Storage Systems. ASPLOS 2014.
//!
//! The same flash twice: exposed to software by channel (`sdf`), and behind one translation layer with striping,
//! parity, GC and a buffer (`huawei-gen3`); also `intel-320` and, in table 1, `memblaze-q520-like`. Figures 10 to 14
//! need the store on top and are not studied yet.

mod capacity;
mod clients;
mod drives;
mod fig1;
mod fig7;
mod fig8;
mod table1;
mod table4;

use crate::study::Study;

pub(crate) const STUDY: Study = Study {
    paper: "sdf14",
    title: "Ouyang, Lin, Jiang, Hou, Wang, Wang: SDF: Software-Defined Flash for Web-Scale Internet Storage Systems, ASPLOS 2014",
    figures: &[table1::FIGURE, fig1::FIGURE, table4::FIGURE, fig7::FIGURE, fig8::FIGURE, capacity::FIGURE],
    shared: &[],
};

#[cfg(test)]
mod tests;
