//! `flashlane store table`: tables with typed columns on a store.

mod import;
mod rows;

use super::device::{Place, failed as store_failed, open, open_to_write};
use super::{DurabilityOption, PlaceOptions};
use crate::failure::{Failure, Status};
use crate::options::Format;
use crate::output::{json, print};
use anyhow::anyhow;
use flashlane_report::csv_line;
use flashlane_store_tables::{Column, Schema, TableError, Tables, Value};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = HELP, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const HELP: &str = "\
Examples:
  flashlane store table create 'lanes(./flash)' census city:text \\
      year:integer people:integer 'note:text?' --key city,year
  flashlane store table insert 'lanes(./flash)' census city=Bern year=2020 \\
      people=134794
  flashlane store table import 'lanes(./flash)' census census.csv
  flashlane store table get 'lanes(./flash)' census Bern 2020
  flashlane store table scan 'lanes(./flash)' census --prefix Bern \\
      --columns year,people --format csv

A column is NAME:TYPE, or NAME:TYPE? where it may be null. Types: integer, real, text, bytes, boolean. In bytes \\xNN is a byte
and \\\\ a backslash.";

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Create an empty table
    Create {
        #[command(flatten)]
        place: PlaceOptions,
        /// Name of the table
        table: String,
        /// Columns, each NAME:TYPE or NAME:TYPE?
        #[arg(required = true, value_name = "COLUMN")]
        columns: Vec<String>,
        /// Columns of the primary key, in its order
        #[arg(long, required = true, value_delimiter = ',', value_name = "NAME,…")]
        key: Vec<String>,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// Remove a table and all its rows
    Drop {
        #[command(flatten)]
        place: PlaceOptions,
        /// Name of the table
        table: String,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// List the tables
    Ls {
        #[command(flatten)]
        place: PlaceOptions,
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Show the columns and the primary key of a table
    Describe {
        #[command(flatten)]
        place: PlaceOptions,
        /// Name of the table
        table: String,
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Add a nullable column, which is null in the rows that are there
    AddColumn {
        #[command(flatten)]
        place: PlaceOptions,
        /// Name of the table
        table: String,
        /// The column, NAME:TYPE?
        column: String,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// Add a row
    Insert {
        #[command(flatten)]
        place: PlaceOptions,
        /// Name of the table
        table: String,
        /// Values, each NAME=VALUE; columns that are not named are null
        #[arg(required = true, value_name = "NAME=VALUE")]
        values: Vec<String>,
        /// Replace a row that has the same key, instead of refusing
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// Show the row with a key
    Get {
        #[command(flatten)]
        place: PlaceOptions,
        /// Name of the table
        table: String,
        /// Values of the primary key, in its order
        #[arg(required = true, allow_negative_numbers = true)]
        key: Vec<String>,
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Delete the row with a key
    Rm {
        #[command(flatten)]
        place: PlaceOptions,
        /// Name of the table
        table: String,
        /// Values of the primary key, in its order
        #[arg(required = true, allow_negative_numbers = true)]
        key: Vec<String>,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// List rows in the order of their keys, as of one moment
    Scan {
        #[command(flatten)]
        place: PlaceOptions,
        /// Name of the table
        table: String,
        #[command(flatten)]
        range: rows::RangeOptions,
        /// Output format: of these, CSV and JSON tell null from an empty text
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Store the rows of a CSV file, each in place of one with the same key
    #[command(after_help = IMPORT_HELP)]
    Import {
        #[command(flatten)]
        place: PlaceOptions,
        /// Name of the table
        table: String,
        /// CSV file whose first line has the names of columns; - for standard input
        file: PathBuf,
        #[command(flatten)]
        durability: DurabilityOption,
    },
}

const IMPORT_HELP: &str = "\
An empty field is null where the column is nullable; \"\" is an empty text. Columns that the file lacks are null. 'flashlane
store table scan DEVICE TABLE --format csv' writes this form. After a refused row the rows before it are stored; to go on,
import the file again.";

impl Arguments {
    pub fn place(&self) -> &PlaceOptions {
        match &self.action {
            Action::Create { place, .. }
            | Action::Drop { place, .. }
            | Action::Ls { place, .. }
            | Action::Describe { place, .. }
            | Action::AddColumn { place, .. }
            | Action::Insert { place, .. }
            | Action::Get { place, .. }
            | Action::Rm { place, .. }
            | Action::Scan { place, .. }
            | Action::Import { place, .. } => place,
        }
    }
}

pub fn call(place: &Place, arguments: &Arguments) -> Result<Status, Failure> {
    match &arguments.action {
        Action::Create { table, columns, key, durability, .. } => {
            let columns = columns.iter().map(|text| Column::parse(text)).collect::<Result<Vec<_>, _>>();
            let schema = columns.and_then(|columns| Schema::new(columns, key)).map_err(Failure::unusable)?;
            let mut store = open_to_write(place, durability.durability)?;
            Tables::open(&mut store).and_then(|mut tables| tables.create(table, schema)).map_err(failed)?;
            store.store().settle();
            print(&format!("{table}: created, durability: {}\n", durability.durability.name()))
        }
        Action::Drop { table, durability, .. } => {
            let mut store = open_to_write(place, durability.durability)?;
            Tables::open(&mut store).and_then(|mut tables| tables.drop_table(table)).map_err(failed)?;
            store.store().settle();
            print(&format!("{table}: dropped, durability: {}\n", durability.durability.name()))
        }
        Action::Ls { format, .. } => list(place, *format),
        Action::Describe { table, format, .. } => {
            let mut store = open(place)?;
            let mut tables = Tables::open(&mut store).map_err(failed)?;
            let schema = tables.table(table).map_err(failed)?.schema().clone();
            print(&described(table, &schema, *format))
        }
        Action::AddColumn { table, column, durability, .. } => {
            let column = Column::parse(column).map_err(Failure::unusable)?;
            let name = column.name.clone();
            let mut store = open_to_write(place, durability.durability)?;
            Tables::open(&mut store)
                .and_then(|mut tables| tables.add_column(table, column))
                .map_err(failed)?;
            store.store().settle();
            print(&format!("{table}: column {name} added, durability: {}\n", durability.durability.name()))
        }
        Action::Insert { table, values, replace, durability, .. } => {
            rows::insert(place, table, values, *replace, durability.durability)
        }
        Action::Get { table, key, format, .. } => return rows::get(place, table, key, *format),
        Action::Rm { table, key, durability, .. } => {
            return rows::remove(place, table, key, durability.durability);
        }
        Action::Scan { table, range, format, .. } => return rows::scan(place, table, range, *format),
        Action::Import { table, file, durability, .. } => {
            return import::import(place, table, file, durability.durability);
        }
    }?;
    Ok(Status::Done)
}

fn list(place: &Place, format: Format) -> Result<(), Failure> {
    let mut store = open(place)?;
    let tables = Tables::open(&mut store).and_then(|mut tables| tables.list()).map_err(failed)?;
    let key = |schema: &Schema| schema.key_columns().map(|column| column.name.clone()).collect::<Vec<_>>();
    print(&match format {
        Format::Text => {
            tables.iter().map(|(name, schema)| format!("{name}: {}\n", summary(schema))).collect()
        }
        Format::Csv => tables.iter().fold(csv_line(["name", "columns", "key"]), |text, (name, schema)| {
            text + &csv_line([name, &*schema.columns().len().to_string(), &key(schema).join(",")])
        }),
        Format::Json => {
            let row = |(name, schema): &(String, Schema)| json!({ "name": name, "columns": schema.columns().len(), "key": key(schema) });
            let tables: Vec<_> = tables.iter().map(row).collect();
            json(&json!({ "schema": "flashlane.tables/1", "tables": tables }))
        }
    })
}

/// Returns the arguments that create a table with this schema.
fn summary(schema: &Schema) -> String {
    let columns: Vec<String> = schema.columns().iter().map(column_text).collect();
    let key: Vec<&str> = schema.key_columns().map(|column| column.name.as_str()).collect();
    format!("{} --key {}", columns.join(" "), key.join(","))
}

fn column_text(column: &Column) -> String {
    format!("{}:{}{}", column.name, column.kind, if column.is_nullable { "?" } else { "" })
}

fn described(table: &str, schema: &Schema, format: Format) -> String {
    let place_in_key = |nth: usize| schema.key().iter().position(|of_key| *of_key == nth).map(|at| at + 1);
    let columns = schema.columns().iter().enumerate();
    match format {
        Format::Text => columns.fold(String::new(), |text, (nth, column)| {
            let key = place_in_key(nth).map_or(String::new(), |at| format!(", column {at} of the key"));
            let nullable = if column.is_nullable { ", nullable" } else { "" };
            text + &format!("{:<24}{}{key}{nullable}\n", column.name, column.kind)
        }),
        Format::Csv => columns.fold(csv_line(["name", "type", "nullable", "key"]), |text, (nth, column)| {
            let key = place_in_key(nth).map_or(String::new(), |at| at.to_string());
            let is_nullable = column.is_nullable.to_string();
            text + &csv_line([column.name.as_str(), column.kind.name(), &is_nullable, &key])
        }),
        Format::Json => {
            let row = |column: &Column| json!({ "name": column.name, "type": column.kind.name(), "nullable": column.is_nullable });
            let key: Vec<&str> = schema.key_columns().map(|column| column.name.as_str()).collect();
            let columns: Vec<_> = schema.columns().iter().map(row).collect();
            json(&json!({ "schema": "flashlane.table/1", "name": table, "columns": columns, "key": key }))
        }
    }
}

/// Returns values of a key that are given as texts.
fn key_values(schema: &Schema, texts: &[String]) -> Result<Vec<Value>, TableError> {
    let parsed = schema.key_columns().zip(texts).map(|(column, text)| column.kind.parse(&column.name, text));
    let values = parsed.collect::<Result<Vec<_>, _>>()?;
    // Values without a column are refused with those that have one.
    Ok(values
        .into_iter()
        .chain(texts.iter().skip(schema.key().len()).map(|text| text.as_str().into()))
        .collect())
}

/// Returns why a call failed. What is stored is the reason of status 1.
fn failed(error: TableError) -> Failure {
    match error {
        TableError::Store(error) => store_failed(error),
        TableError::Missing { table } => Failure::failed(anyhow!(
            "there is no table '{table}': 'flashlane store table ls' lists the tables"
        )),
        TableError::Duplicate { .. } => {
            Failure::failed(anyhow!("{error}; --replace puts the new row in its place"))
        }
        TableError::Exists { .. } | TableError::Lossy(_) | TableError::Malformed { .. } => {
            Failure::failed(error)
        }
        TableError::Schema(_) | TableError::Value(_) | TableError::Newer { .. } | TableError::Parted => {
            Failure::unusable(error)
        }
    }
}
