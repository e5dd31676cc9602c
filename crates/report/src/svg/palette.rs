//! Colours of series, and swatches in legends.

use flashlane_result::{Figure, Series};

/// Number of classes `.s0`, `.s1`, … in the style.
const COLOURS: usize = 7;

/// Returns the palette index of each series. Published points get the colour of the measured curve with the same name,
/// apart from the words for published and measured.
fn slots(figure: &Figure) -> Vec<usize> {
    let mut taken: Vec<(String, bool)> = Vec::new();
    let mut slots = Vec::new();
    for series in &figure.series {
        let subject = subject(series);
        let partner =
            taken.iter().position(|(other, scatter)| *other == subject && *scatter != series.scatter);
        slots.push(partner.unwrap_or_else(|| {
            taken.push((subject, series.scatter));
            taken.len() - 1
        }));
    }
    slots
}

fn subject(series: &Series) -> String {
    series
        .name
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric() && c != '.' && c != '+')
        .filter(|word| !matches!(*word, "published" | "measured" | "paper" | "ours" | ""))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the CSS classes of a series, for its colour.
pub(crate) fn class(figure: &Figure, at: usize) -> String {
    format!("s s{}", slots(figure)[at] % COLOURS)
}

/// Returns the dashes of a series whose colour is already used; none for the first seven.
pub(crate) fn dash_lengths(figure: &Figure, at: usize) -> &'static str {
    match slots(figure)[at] / COLOURS {
        0 => "",
        1 => "7 4",
        _ => "2 4",
    }
}

/// Returns the dashes as an attribute.
pub(super) fn dashes(figure: &Figure, at: usize) -> String {
    match dash_lengths(figure, at) {
        "" => String::new(),
        lengths => format!(" stroke-dasharray=\"{lengths}\""),
    }
}

/// Draws a short piece of the series' curve, 24 pixels wide and centred at height zero.
pub(crate) fn swatch(figure: &Figure, at: usize) -> String {
    let class = class(figure, at);
    if figure.series[at].scatter {
        format!(
            "<g class=\"{class}\" stroke-width=\"1.8\"><circle class=\"hollow\" cx=\"12\" cy=\"0\" r=\"4\"/></g>"
        )
    } else {
        let dashes = dashes(figure, at);
        format!("<g class=\"{class}\" stroke-width=\"2.2\"><path d=\"M1 0H23\"{dashes}/></g>")
    }
}

/// Returns whether a legend is needed: not for one entry that repeats the vertical axis.
pub(crate) fn needs_legend(figure: &Figure) -> bool {
    match figure.series.as_slice() {
        [] => false,
        [one] => !one.name.is_empty() && !one.name.eq_ignore_ascii_case(&figure.y.label),
        _ => true,
    }
}
