//! Finds comment lines that are too wide: rustfmt wraps code and leaves comments as they are.

use crate::sources::{rust_files, text_of};
use anyhow::{Result, bail};
use std::path::Path;

/// The most columns of a line of a comment.
const MOST: usize = 120;

/// Checks the Rust files of all crates.
///
/// # Errors
/// Names the lines that are wider.
pub fn check(root: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    for path in rust_files(&root.join("crates"))? {
        let text = text_of(&path)?;
        let name = path.strip_prefix(root).unwrap_or(&path).display();
        wrong.extend(too_wide(&text).into_iter().map(|line| format!("{name}:{line}")));
    }
    if !wrong.is_empty() {
        bail!("comments with more than {MOST} columns:\n{}", wrong.join("\n"));
    }
    println!("widths: no comment has more than {MOST} columns");
    Ok(())
}

/// Returns the numbers of the lines that are comments and too wide. Rows of tables, diagrams, code and addresses cannot
/// be wrapped.
fn too_wide(text: &str) -> Vec<usize> {
    let mut is_fenced = false;
    let mut wide = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_fenced = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        is_fenced ^= comment.starts_with("```");
        let is_exempt = is_fenced || comment.starts_with('|') || comment.contains("://");
        if !is_exempt && line.chars().count() > MOST {
            wide.push(number);
        }
    }
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_comment_is_found_and_code_is_left_to_rustfmt() {
        let wide = "x".repeat(MOST);
        let text = format!(
            "// short\n    /// {wide}\nlet text = \"{wide}\"; // short\n// https://{wide}\n//! {wide}"
        );
        assert_eq!(too_wide(&text), [2, 5]);
        assert_eq!(too_wide(&format!("//{}", "µ".repeat(MOST - 2))), [0; 0]);
        assert_eq!(too_wide(&format!("//! ```\n//! {wide}\n//! ```\n//! | {wide}\n//! {wide}")), [5]);
    }

    #[test]
    fn comments_of_all_crates_are_narrow() {
        check(&crate::root().expect("the root is known")).expect("no comment is too wide");
    }
}
