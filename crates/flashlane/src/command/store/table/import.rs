//! Stores the rows of a CSV file, with many writes in flight.

use super::super::Level;
use super::super::device::{Place, open_to_write};
use super::super::import::stored_text;
use super::failed;
use crate::command::sdf::counted;
use crate::failure::{Failure, Status};
use crate::output::print;
use anyhow::{Context, anyhow};
use flashlane_base::Duration;
use flashlane_device::DataDevice;
use flashlane_store_tables::csv::{Field, Reader};
use flashlane_store_tables::{RowLoader, Schema, SchemaError, Tables, Value};
use flashlane_trace::is_standard_input;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Longest wait for a write.
const WAIT: Duration = Duration::from_ms(50);

/// Stores a row from each record.
pub fn import(place: &Place, table: &str, path: &Path, level: Level) -> Result<Status, Failure> {
    let (input, name) = input(path).map_err(Failure::unusable)?;
    let mut reader = Reader::new(input);
    let mut store = open_to_write(place, level)?;
    let mut tables = Tables::open(&mut store).map_err(failed)?;
    let mut table = tables.table(table).map_err(failed)?;
    let columns = header(&mut reader, table.schema()).map_err(|error| {
        Failure::unusable(error.context(format!("the first line of {name} must name columns")))
    })?;
    let mut loader = table.loader();
    let ended = load(&mut reader, &columns, &mut loader);
    let mut written = anyhow::Ok(());
    while !loader.is_done() {
        match loader.wait(WAIT) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => written = written.and(Err(error.into())),
        }
    }
    let (in_all, is_done) = (loader.stored_in_all(), loader.is_done());
    let (stored, most) = (*in_all.start(), *in_all.end());
    let before = stored_text(loader.stored(), loader.stored_in_all(), ["row", "rows"]);
    drop(loader);
    store.store().settle();
    let rows = counted(stored, "row", "rows");
    let ended = ended.and_then(|()| match is_done {
        true => Ok(()),
        false => Err(anyhow!("the device is full; delete rows or keys to make room")),
    });
    let line = reader.line();
    let error = match (written, ended) {
        (Err(error), _) => error.context(format!("stored: {before}; one behind them is not")),
        (Ok(()), Err(error)) => {
            error.context(format!("line {line} of {name} is not stored; stored before it: {before}"))
        }
        (Ok(()), Ok(())) => {
            print(&format!("{rows} stored, durability: {}\n", level.name()))?;
            return Ok(Status::Done);
        }
    };
    Err(if most == 0 { Failure::unusable(error) } else { Failure::failed(error) })
}

fn input(path: &Path) -> anyhow::Result<(Box<dyn BufRead>, String)> {
    if is_standard_input(path) {
        return Ok((Box::new(io::stdin().lock()), "standard input".into()));
    }
    let file = File::open(path).with_context(|| format!("cannot open '{}'", path.display()))?;
    Ok((Box::new(BufReader::new(file)), format!("'{}'", path.display())))
}

/// Returns the numbers of the columns that the first record names.
fn header(reader: &mut Reader<impl BufRead>, schema: &Schema) -> anyhow::Result<Vec<usize>> {
    let mut columns = Vec::new();
    for Field { text, .. } in reader.next_record()?.ok_or_else(|| anyhow!("it has none"))? {
        let nth = schema.column(&text)?;
        if columns.contains(&nth) {
            return Err(SchemaError::Twice { column: text }.into());
        }
        columns.push(nth);
    }
    Ok(columns)
}

fn load<D: DataDevice, L: DataDevice>(
    reader: &mut Reader<impl BufRead>,
    columns: &[usize],
    loader: &mut RowLoader<'_, D, L>,
) -> anyhow::Result<()> {
    while let Some(record) = reader.next_record()? {
        let row = row(loader.schema(), columns, &record)?;
        while !loader.offer(&row)? {
            loader.wait(WAIT)?;
        }
    }
    Ok(())
}

fn row(schema: &Schema, columns: &[usize], record: &[Field]) -> anyhow::Result<Vec<Value>> {
    if record.len() != columns.len() {
        return Err(anyhow!("it has {} fields, and the first line {}", record.len(), columns.len()));
    }
    let mut row = vec![Value::Null; schema.columns().len()];
    for (&nth, field) in columns.iter().zip(record) {
        row[nth] = field.value(&schema.columns()[nth])?;
    }
    Ok(row)
}
