//! Commands that are shown to be copied into a shell.

/// Quotes an argument for a shell, where it has to be. Suggested commands stand between single quotes, so that double
/// ones come first.
pub fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ":/._,=-+%".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else if argument.contains(['"', '$', '`', '\\', '!']) {
        format!("'{}'", argument.replace('\'', r"'\''"))
    } else {
        format!("\"{argument}\"")
    }
}
