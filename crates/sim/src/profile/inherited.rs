//! Options of a policy that an override replaces. A profile's options are those of its own policy; where another policy
//! is set, it takes the options it knows, and ignores the others.

use crate::config::DriveConfig;

/// The field of a policy's options: `wear.options` of `wear.policy`, `cleaning.pacing_options` of `cleaning.pacing`.
fn options_field(policy: &str) -> String {
    match policy.strip_suffix(".policy") {
        Some(section) => format!("{section}.options"),
        None => format!("{policy}_options"),
    }
}

/// Returns the value of a dotted field.
fn value<'a>(table: &'a toml::Table, field: &str) -> Option<&'a toml::Value> {
    let (sections, name) = field.rsplit_once('.')?;
    let table = sections.split('.').try_fold(table, |table, section| table.get(section)?.as_table())?;
    table.get(name)
}

/// Marks the options that replaced policies leave behind. `file` is the profile's own table, `table` the one with the
/// overrides of the fields `set`.
pub(super) fn mark(config: &mut DriveConfig, file: &toml::Table, table: &toml::Table, set: &[String]) {
    for policy in set.iter().filter(|policy| value(file, policy) != value(table, policy)) {
        let Some(options) = config.options_of(policy) else { continue };
        let field = options_field(policy);
        options.inherit(|name| set.contains(&format!("{field}.{name}")));
    }
}
