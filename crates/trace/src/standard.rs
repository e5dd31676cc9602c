//! `-` as a trace's path: standard input for reading, standard output for writing.

use std::path::Path;

/// Returns whether a path stands for standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Returns whether a path stands for standard output.
pub fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Returns the name of an input trace in messages and results: its path, or `standard input`.
pub fn input_name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".into() } else { path.display().to_string() }
}

/// Returns the name of an output trace in messages: its path, or `standard output`.
pub fn output_name(path: &Path) -> String {
    if is_standard_output(path) { "standard output".into() } else { path.display().to_string() }
}
