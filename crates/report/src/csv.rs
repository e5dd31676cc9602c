//! CSV (RFC 4180) of a document's main table, with the exact values and the names of the result.

use crate::document::{Document, Table};

/// Returns the first table as CSV; empty without tables.
pub(crate) fn render(document: &Document) -> String {
    document.tables.first().map(render_table).unwrap_or_default()
}

fn render_table(table: &Table) -> String {
    let note = (!table.note_key.is_empty()).then_some(table.note_key);
    let mut out = csv_line(table.columns.iter().map(|column| column.key.as_str()).chain(note));
    for row in &table.rows {
        let note = note.map(|_| row.note.as_str());
        out += &csv_line(row.cells.iter().map(|cell| cell.for_programs()).chain(note));
    }
    out
}

/// Returns a line of CSV with its line end; fields are quoted where necessary.
pub fn csv_line<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let fields: Vec<String> = fields.into_iter().map(quoted).collect();
    fields.join(",") + "\r\n"
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
    fn only_special_fields_are_quoted() {
        assert_eq!(
            csv_line(["plain", "a,b", "say \"so\"", "", " x"]),
            "plain,\"a,b\",\"say \"\"so\"\"\",,\" x\"\r\n"
        );
    }
}
