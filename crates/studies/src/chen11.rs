//! Feng Chen, Rubao Lee, Xiaodong Zhang: Essential Roles of Exploiting Internal Parallelism of Flash Memory based
//! Solid State Drives in High-Speed Data Processing. HPCA 2011.
//!
//! Two SATA drives, `ssd-s` (SLC) and `ssd-m` (MLC), as black boxes: figures 2 to 4 uncover their structure, figures
//! 5 to 7 and table 2 its effect on performance, and figures 8 and 9 that on a database's queries.

mod fig2;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod fig8;
mod fig9;
mod method;
mod queries;
mod table2;

use crate::study::{SharedMeasurement, Study};

/// The measurement of figures 8 and 9.
const QUERIES: &str = "queries";

pub(crate) const STUDY: Study = Study {
    paper: "chen11",
    title: "Chen, Lee, Zhang: Essential Roles of Exploiting Internal Parallelism of Flash Memory based Solid State Drives in High-Speed Data Processing, HPCA 2011",
    figures: &[
        fig2::FIGURE,
        fig3::FIGURE,
        fig4::FIGURE,
        fig5::FIGURE,
        table2::FIGURE,
        fig6::FIGURE,
        fig7::FIGURE,
        fig8::FIGURE,
        fig9::FIGURE,
    ],
    shared: &[SharedMeasurement {
        name: QUERIES,
        figures: &["fig8", "fig9"],
        weight: queries::WEIGHT,
        measure: queries::all,
    }],
};

#[cfg(test)]
mod tests;
