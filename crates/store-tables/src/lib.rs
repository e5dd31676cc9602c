//! Tables on the store: named and typed columns, a primary key of one or several of them, ranges of it, projection.
//!
//! A row is one pair of the store: its key is the primary key in an encoding that keeps the order ([`key`]), its value
//! the other columns (`row.rs`). So a get is one read, rows lie in the order of their keys, and a range of keys is a
//! scan. The schema is a record of the store beside the rows. Tables and plain keys share a store; see
//! [`flashlane_store::space`].
//!
//! ```
//! use flashlane_base::Seed;
//! use flashlane_device_testing::{MemoryDisk, MemoryLanes};
//! use flashlane_store::{KeyValueStore, Slices};
//! use flashlane_store_tables::{Column, Scan, Schema, Tables, Type, Value};
//!
//! let (device, log) = (MemoryLanes::new(4, 64, 64 << 10, 512, Seed(1)), MemoryDisk::new(1 << 20, 512, Seed(1)));
//! let mut store = KeyValueStore::create(device, log, 1, Slices::even(1))?;
//! let mut tables = Tables::open(&mut store)?;
//! let columns = vec![Column::new("city", Type::Text), Column::new("year", Type::Integer), Column::new("people", Type::Integer)];
//! tables.create("census", Schema::new(columns, &["city", "year"])?)?;
//! let mut census = tables.table("census")?;
//! for (city, year, people) in [("Bern", 2010, 124_381), ("Bern", 2020, 134_794), ("Basel", 2020, 173_863)] {
//!     census.insert(&[city.into(), year.into(), people.into()])?;
//! }
//! let of_bern = Scan { prefix: vec!["Bern".into()], columns: Some(vec!["people".into()]), ..Scan::default() };
//! let people: Vec<_> = census.scan(&of_bern)?.collect::<Result<_, _>>()?;
//! assert_eq!(people, [[Value::Integer(124_381)], [Value::Integer(134_794)]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod csv;
mod error;
pub mod key;
mod row;
mod scan;
mod schema;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod value;

pub use error::{SchemaError, TableError};
pub use scan::{Rows, Scan};
pub use schema::{Column, Schema};
pub use table::{RowLoader, Table};
pub use tables::Tables;
pub use value::{Type, Value, ValueError};
