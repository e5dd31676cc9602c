//! `-` in the place of a trace's path: standard input where one is read, standard output where one is written.

use std::path::Path;

/// Whether that is what stands for standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether that is what stands for standard output.
pub fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// What a trace that is read from there is called in messages and results: its path, or `standard input`.
pub fn input_name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".into() } else { path.display().to_string() }
}

/// What a trace that is written there is called in messages: its path, or `standard output`.
pub fn output_name(path: &Path) -> String {
    if is_standard_output(path) { "standard output".into() } else { path.display().to_string() }
}
