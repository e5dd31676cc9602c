//! The syntax of a fio job file: sections in brackets, `option=value` or a bare option, comment lines that begin with
//! `#` or `;`. A `[global]` section applies to the sections after it.

/// A section, with all options that apply to it.
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    /// In the order of the file, those of `[global]` first; a later one replaces an earlier one.
    pub(super) options: Vec<Setting<'a>>,
}

/// `option=value`.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) name: &'a str,
    /// Empty for a bare option.
    pub(super) value: &'a str,
    pub(super) line: usize,
}

/// A line with an error, and its reason.
pub(super) type Wrong = (usize, String);

pub(super) fn sections(text: &str) -> Result<Vec<Section<'_>>, Wrong> {
    let mut global: Vec<Setting<'_>> = Vec::new();
    let mut sections: Vec<Section<'_>> = Vec::new();
    // Whether lines belong to `[global]`, to the last section, or to none yet.
    let mut in_global = None;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| (line, format!("'{content}' is not a section, as in [job]")))?;
            in_global = Some(name == "global");
            if name != "global" {
                sections.push(Section { name, line, options: global.clone() });
            }
            continue;
        }
        if content.split_whitespace().next() == Some("include") {
            return Err((line, "'include' is not supported: put the options of that file here".into()));
        }
        if content.contains('$') {
            return Err((
                line,
                format!("variables such as '${{VAR}}' are not supported: write the value in '{content}'"),
            ));
        }
        let (name, value) = content.split_once('=').unwrap_or((content, ""));
        let setting = Setting { name: name.trim(), value: value.trim(), line };
        match (in_global, sections.last_mut()) {
            (Some(true), _) => global.push(setting),
            (Some(false), Some(section)) => section.options.push(setting),
            _ => return Err((line, format!("'{content}' stands before the first section, as in [global]"))),
        }
    }
    Ok(sections)
}
