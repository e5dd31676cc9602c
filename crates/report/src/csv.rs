//! The main table of a document for programs: RFC 4180, values exact and named as in the result.

use crate::document::{Document, Table};

/// The first table; empty where there is none.
pub(crate) fn render(document: &Document) -> String {
    document.tables.first().map(render_table).unwrap_or_default()
}

fn render_table(table: &Table) -> String {
    let note = (!table.note_key.is_empty()).then_some(table.note_key);
    let mut out = String::new();
    push_line(&mut out, table.columns.iter().map(|column| column.key.as_str()).chain(note));
    for row in &table.rows {
        let note = note.map(|_| row.note.as_str());
        push_line(&mut out, row.cells.iter().map(|cell| cell.for_programs()).chain(note));
    }
    out
}

fn push_line<'a>(out: &mut String, fields: impl Iterator<Item = &'a str>) {
    let fields: Vec<String> = fields.map(quoted).collect();
    out.push_str(&fields.join(","));
    out.push_str("\r\n");
}

fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) || field.trim() != field {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_quotes_gets_them() {
        let mut out = String::new();
        push_line(&mut out, ["plain", "a,b", "say \"so\"", "", " x"].into_iter());
        assert_eq!(out, "plain,\"a,b\",\"say \"\"so\"\"\",,\" x\"\r\n");
    }
}
