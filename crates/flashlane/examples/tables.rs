//! Keeps the people of cities in a table on a file, opens it again, and reads ranges of it.
//!
//! ```sh
//! cargo run --release --example tables            # files in the folder for temporary files, removed at the end
//! cargo run --release --example tables -- ./flash # new files that stay: ./flash, and its log ./flash.log
//! ```

use flashlane::store::StoreOptions;
use flashlane::tables::{Column, Scan, Schema, Tables, Type, Value};
use flashlane::{AccessMode, AnyKeyValueStore, NewStore, OpenOptions};
use std::error::Error;
use std::path::PathBuf;

/// Runs the example on the path that is given.
pub fn main() -> Result<(), Box<dyn Error>> {
    run(std::env::args().nth(1).filter(|argument| !argument.starts_with('-')).map(PathBuf::from))
}

/// Runs the example on this path, or on temporary files.
pub fn run(given: Option<PathBuf>) -> Result<(), Box<dyn Error>> {
    let is_temporary = given.is_none();
    let name = format!("flashlane-example-tables-{}", std::process::id());
    let path = given.unwrap_or_else(|| std::env::temp_dir().join(name));
    let log = format!("{}.log", path.display());

    let spec = format!("lanes({},channels=4,unit=256KiB)", path.display());
    let created = OpenOptions::new().create(32 << 20).create_store(&spec, &log, NewStore::default())?;
    let mut store = AnyKeyValueStore::from(created);

    // Rows are ordered by city, then by year.
    let columns = vec![
        Column::new("city", Type::Text),
        Column::new("year", Type::Integer),
        Column::new("people", Type::Integer),
        Column::nullable("note", Type::Text),
    ];
    let mut tables = Tables::open(&mut store)?;
    tables.create("census", Schema::new(columns, &["city", "year"])?)?;
    let mut census = tables.table("census")?;
    census.insert(&["Bern".into(), Value::Integer(2020), Value::Integer(134_794), "estimate".into()])?;
    census.upsert(&["Bern".into(), Value::Integer(2020), Value::Integer(134_794), Value::Null])?;
    assert!(census.insert(&["Bern".into(), Value::Integer(2020), Value::Integer(0), Value::Null]).is_err());

    // Many at once: the loader keeps writes in flight.
    let mut loader = census.loader();
    for year in 1900..2000 {
        let row = ["Basel".into(), year.into(), (100_000 + year).into(), Value::Null];
        while !loader.offer(&row)? {
            loader.wait(flashlane::Duration::from_s(1))?;
        }
    }
    assert_eq!(loader.finish()?, 100);
    drop(store);

    let spec = format!("lanes({})", path.display());
    let opened = OpenOptions::new().open_store(&spec, &log, AccessMode::ReadOnly, StoreOptions::default())?;
    let mut store = AnyKeyValueStore::from(opened);
    let mut tables = Tables::open(&mut store)?;
    let mut census = tables.table("census")?;
    let row = census.get(&["Bern".into(), Value::Integer(2020)])?.ok_or("the row was stored")?;
    assert_eq!(row[2], Value::Integer(134_794));

    // The nineties of Basel, and of them one column.
    let nineties = Scan {
        prefix: vec!["Basel".into()],
        from: vec!["Basel".into(), Value::Integer(1990)],
        columns: Some(vec!["people".into()]),
        ..Scan::default()
    };
    let people: Vec<Vec<Value>> = census.scan(&nineties)?.collect::<Result<_, _>>()?;
    assert_eq!(people.len(), 10);
    println!("{} rows of Basel from 1990 on, the first with {} people", people.len(), people[0][0]);

    drop(store);
    if is_temporary {
        std::fs::remove_file(path)?;
        std::fs::remove_file(log)?;
    }
    Ok(())
}
