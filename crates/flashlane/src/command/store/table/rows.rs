//! Rows of a table: inserted, shown, deleted, listed.

use super::super::Level;
use super::super::device::{Place, open, open_to_write};
use super::super::entries::ended;
use super::{failed, key_values};
use crate::failure::{Failure, Status};
use crate::options::{self, Format};
use crate::output::print;
use crate::terminal::printable;
use anyhow::anyhow;
use flashlane_store::text::escape;
use flashlane_store_tables::{Column, Scan, Schema, SchemaError, Tables, Value, csv};
use serde_json::{Map, Value as Json, json};
use std::io::{self, BufWriter, IsTerminal, Write};

/// The rows to list.
#[derive(Debug, clap::Args)]
pub struct RangeOptions {
    /// Only rows whose key begins with this value; a second --prefix is that of the key's second column, and so on
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    prefix: Vec<String>,
    /// Begin with this key, or its first values, one --from for each
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    from: Vec<String>,
    /// End before this key, or its first values, one --to for each
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    to: Vec<String>,
    /// Only these columns, in this order
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Maximum number of rows
    #[arg(long, value_name = "N", value_parser = options::positive_count)]
    limit: Option<u64>,
}

/// Adds a row.
pub fn insert(
    place: &Place,
    table: &str,
    values: &[String],
    replaces: bool,
    level: Level,
) -> Result<(), Failure> {
    let mut store = open_to_write(place, level)?;
    let mut tables = Tables::open(&mut store).map_err(failed)?;
    let mut table = tables.table(table).map_err(failed)?;
    let row = row_of(table.schema(), values)?;
    if replaces { table.upsert(&row) } else { table.insert(&row) }.map_err(failed)?;
    let name = table.name().to_owned();
    store.store().settle();
    print(&format!("{name}: 1 row stored, durability: {}\n", level.name()))
}

fn row_of(schema: &Schema, values: &[String]) -> Result<Vec<Value>, Failure> {
    let mut row = vec![Value::Null; schema.columns().len()];
    let mut is_given = vec![false; row.len()];
    for given in values {
        let Some((name, text)) = given.split_once('=') else {
            return Err(Failure::unusable(anyhow!("'{given}' is no value of a column: NAME=VALUE is one")));
        };
        let nth = schema.column(name).map_err(Failure::unusable)?;
        if std::mem::replace(&mut is_given[nth], true) {
            return Err(Failure::unusable(SchemaError::Twice { column: name.to_owned() }));
        }
        row[nth] = schema.columns()[nth].kind.parse(name, text).map_err(Failure::unusable)?;
    }
    Ok(row)
}

/// Shows the row with a key.
pub fn get(place: &Place, table: &str, key: &[String], format: Format) -> Result<Status, Failure> {
    let mut store = open(place)?;
    let mut tables = Tables::open(&mut store).map_err(failed)?;
    let mut table = tables.table(table).map_err(failed)?;
    let values = key_values(table.schema(), key).map_err(failed)?;
    let row = table.get(&values).map_err(failed)?.ok_or_else(|| missing(table.name(), key))?;
    let columns = table.schema().columns();
    let text = match format {
        Format::Text => columns.iter().zip(&row).fold(String::new(), |text, (column, value)| {
            let shown = if *value == Value::Null { "null".to_owned() } else { shown(value) };
            text + &format!("{:<24}{shown}\n", column.name)
        }),
        Format::Csv => header(columns) + &csv::line(&row),
        Format::Json => {
            let row = json_row(columns, &row);
            crate::output::json(&json!({ "schema": "flashlane.row/1", "table": table.name(), "row": row }))
        }
    };
    print(&text)?;
    Ok(Status::Done)
}

/// Deletes the row with a key.
pub fn remove(place: &Place, table: &str, key: &[String], level: Level) -> Result<Status, Failure> {
    let mut store = open_to_write(place, level)?;
    let mut tables = Tables::open(&mut store).map_err(failed)?;
    let mut table = tables.table(table).map_err(failed)?;
    let values = key_values(table.schema(), key).map_err(failed)?;
    if !table.delete(&values).map_err(failed)? {
        return Err(missing(table.name(), key));
    }
    let name = table.name().to_owned();
    store.store().settle();
    print(&format!("{name}: 1 row deleted, durability: {}\n", level.name()))?;
    Ok(Status::Done)
}

fn missing(table: &str, key: &[String]) -> Failure {
    Failure::failed(anyhow!("table '{table}' has no row with key {}", key.join(", ")))
}

/// Lists rows.
pub fn scan(place: &Place, table: &str, range: &RangeOptions, format: Format) -> Result<Status, Failure> {
    let mut store = open(place)?;
    let mut tables = Tables::open(&mut store).map_err(failed)?;
    let mut table = tables.table(table).map_err(failed)?;
    let schema = table.schema().clone();
    let values = |texts: &[String]| key_values(&schema, texts).map_err(failed);
    let scan = Scan {
        prefix: values(&range.prefix)?,
        from: values(&range.from)?,
        to: if range.to.is_empty() { None } else { Some(values(&range.to)?) },
        columns: range.columns.clone(),
        limit: range.limit,
    };
    let name = table.name().to_owned();
    let rows = table.scan(&scan).map_err(failed)?;
    let columns = columns_of(&schema, range)?;
    let mut out = BufWriter::new(io::stdout().lock());
    // CSV has no escapes, and is for programs.
    let is_shown = format != Format::Csv || io::stdout().is_terminal();
    let mut write = |text: &str| {
        let text = if is_shown { printable(text) } else { text.into() };
        out.write_all(text.as_bytes())
    };
    let first = match format {
        Format::Text => {
            columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join("\t") + "\n"
        }
        Format::Csv => header(&columns),
        Format::Json => {
            format!("{{\"schema\": \"flashlane.rows/1\", \"table\": {}, \"rows\": [", json!(name))
        }
    };
    let mut written = write(&first);
    let mut separator = "\n";
    for row in rows {
        if written.is_err() {
            break;
        }
        let row = row.map_err(failed)?;
        written = match format {
            Format::Text => write(&(row.iter().map(shown).collect::<Vec<_>>().join("\t") + "\n")),
            Format::Csv => write(&csv::line(&row)),
            Format::Json => {
                let text = format!("{separator}{}", json_row(&columns, &row));
                separator = ",\n";
                write(&text)
            }
        };
    }
    if format == Format::Json && written.is_ok() {
        written = write("\n]}\n");
    }
    ended(written.and_then(|()| out.flush()))
}

/// Returns the columns that a scan returns.
fn columns_of(schema: &Schema, range: &RangeOptions) -> Result<Vec<Column>, Failure> {
    let Some(names) = &range.columns else { return Ok(schema.columns().to_vec()) };
    let numbers = names.iter().map(|name| schema.column(name)).collect::<Result<Vec<_>, _>>();
    let numbers = numbers.map_err(Failure::unusable)?;
    Ok(numbers.into_iter().map(|nth| schema.columns()[nth].clone()).collect())
}

fn header(columns: &[Column]) -> String {
    csv::line(&columns.iter().map(|column| column.name.as_str().into()).collect::<Vec<Value>>())
}

/// Returns a value for people, on one line.
fn shown(value: &Value) -> String {
    match value {
        // Its text has the escapes already.
        Value::Bytes(_) => value.to_string(),
        value => escape(value.to_string().as_bytes()),
    }
}

fn json_row(columns: &[Column], row: &[Value]) -> Json {
    let fields = columns.iter().zip(row).map(|(column, value)| (column.name.clone(), json_value(value)));
    Json::Object(fields.collect::<Map<_, _>>())
}

/// Returns a value as JSON; bytes and infinite numbers as the text that the command takes.
fn json_value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(number) => json!(number),
        Value::Real(number) if number.is_finite() => json!(number),
        Value::Boolean(is_true) => json!(is_true),
        Value::Text(_) | Value::Real(_) | Value::Bytes(_) => json!(value.to_string()),
    }
}
