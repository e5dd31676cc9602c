//! The picture for a terminal: five lines of about 70 cells, and a caption.
//!
//! ```text
//!              ┌ controller ───────────────────┐
//! host ────────┤ Write buffer       260 KiB ~  ├─┬─ domain 1   ■ ■
//!  250.0 MB/s  │ Readahead streams  1          │ ├─ domain 2   ■ ■
//!              │ Mapping            write-order │ ┊
//!              └───────────────────────────────┘ └─ domain 10  ■ ■
//! ```

use super::{Certainty, DriveDiagram, Part};
use unicode_width::UnicodeWidthStr;

/// Most sub-domains that are drawn one by one.
const SQUARES: u64 = 6;
const CONTROLLER: &str = " controller ";
const HOST: &str = "host ";

/// Returns the lines of the picture.
pub(crate) fn lines(diagram: &DriveDiagram) -> Vec<String> {
    let inside = inside(&diagram.controller);
    let width = inside.iter().map(|line| line.width()).max().unwrap_or(0).max(CONTROLLER.len());
    let link = diagram.link.marked();
    let margin = link.width().max(HOST.len()) + 3;
    let left = [
        format!("{HOST}{}┤", rule(margin - HOST.len())),
        format!(" {}│", padded(&link, margin - 1)),
        format!("{:margin$}│", ""),
    ];
    let [first, tree @ .., last] = domains(&diagram.domains, &diagram.sub_domains);
    let right = [format!("├─{first}"), format!("│ {}", tree[0]), format!("│ {}", tree[1])];
    let mut lines = vec![format!("{:margin$}┌{CONTROLLER}{}┐", "", rule(width + 2 - CONTROLLER.len()))];
    for ((left, inside), right) in left.iter().zip(&inside).zip(right) {
        lines.push(format!("{left} {} {right}", padded(inside, width)));
    }
    lines.push(format!("{:margin$}└{}┘ {last}", "", rule(width + 2)));
    lines
}

/// Returns the caption: the numbers, and what the marks mean.
pub(crate) fn caption(diagram: &DriveDiagram) -> String {
    let marks = [(Certainty::Likely, "~ stated at less than 90%"), (Certainty::Open, "? open")];
    let used = marks.into_iter().filter(|(certainty, _)| diagram.has(*certainty));
    let used: Vec<&str> = used.map(|(_, words)| words).collect();
    let marks = if used.is_empty() { String::new() } else { format!(" ({})", used.join(", ")) };
    diagram.summary(Part::marked) + &marks
}

fn rule(cells: usize) -> String {
    "─".repeat(cells)
}

fn padded(text: &str, cells: usize) -> String {
    format!("{text}{}", " ".repeat(cells.saturating_sub(text.width())))
}

/// Returns the names of the controller's parts with their values, aligned.
fn inside(parts: &[Part]) -> Vec<String> {
    let names = parts.iter().map(|part| part.name.width()).max().unwrap_or(0);
    parts.iter().map(|part| format!("{}  {}", padded(part.name, names), part.marked())).collect()
}

/// Returns the tree of domains: all of up to four, the first two and the last of more.
fn domains(domains: &Part, sub_domains: &Part) -> [String; 4] {
    let squares = match sub_domains.number {
        Some(count) if count <= SQUARES => vec!["■"; count as usize].join(" "),
        Some(count) => format!("■ × {count}"),
        None => "?".into(),
    };
    let more = || "┊".to_owned();
    let domain = |branch: char, number: &str| format!("{branch}─ domain {number:<3} {squares}");
    let line = |at: u64, count: u64| match at {
        _ if at > count => String::new(),
        _ if count == 1 => domain('─', "1"),
        1 => domain('┬', "1"),
        _ if at == count => domain('└', &at.to_string()),
        _ => domain('├', &at.to_string()),
    };
    match domains.number {
        Some(count @ 0..=4) => [1, 2, 3, 4].map(|at| line(at, count)),
        Some(count) => [line(1, count), line(2, count), more(), line(count, count)],
        None => [domain('┬', "1"), more(), more(), domain('└', "?")],
    }
}
