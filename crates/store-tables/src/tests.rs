//! Tables on devices in memory, compared with a map.

use crate::{Column, Scan, Schema, SchemaError, TableError, Tables, Type, Value, ValueError};
use flashlane_base::{Random, Seed};
use flashlane_device_testing::{MemoryDisk, MemoryLanes, cycle_power};
use flashlane_store::space::Space;
use flashlane_store::{Durability, KeyValueStore, Slices, StoreError, WriteError};
use std::collections::BTreeMap;

type TestStore = KeyValueStore<MemoryLanes, MemoryDisk>;

fn devices() -> (MemoryLanes, MemoryDisk) {
    (MemoryLanes::new(4, 96, 8192, 512, Seed(1)), MemoryDisk::new(256 << 10, 512, Seed(1)))
}

fn store() -> TestStore {
    let (device, log) = devices();
    KeyValueStore::create(device, log, 1, Slices::even(1)).expect("the devices suit")
}

fn reopened(store: TestStore) -> TestStore {
    let (device, log) = store.into_store().into_devices();
    KeyValueStore::open(device, log).expect("a closed store is opened")
}

/// Returns the store that a power cut leaves now.
fn cut(store: &mut TestStore) -> TestStore {
    let store = store.store();
    let (mut device, mut log) = (store.blocks().device().clone(), store.log_device().clone());
    cycle_power(&mut device);
    cycle_power(&mut log);
    KeyValueStore::open(device, log).expect("the store is there")
}

fn schema() -> Schema {
    let columns =
        ["group:text", "number:integer", "weight:real?", "note:text?", "is_new:boolean", "blob:bytes"];
    let columns = columns.map(|text| Column::parse(text).unwrap()).to_vec();
    Schema::new(columns, &["group", "number"]).unwrap()
}

fn row(random: &mut Random) -> Vec<Value> {
    let group = ["", "a", "a\0", "a\0b", "é"][random.below(5) as usize];
    let optional = |is_there: bool, value: Value| if is_there { value } else { Value::Null };
    let blob = (0..random.below(60)).map(|_| random.bits() as u8).collect::<Vec<u8>>();
    vec![
        group.into(),
        (random.below(40) as i64 - 20).into(),
        optional(random.chance(0.5), (random.unit() * 1e9 - 5e8).into()),
        optional(random.chance(0.5), ["", "text", "\u{10ffff}"][random.below(3) as usize].into()),
        random.chance(0.5).into(),
        blob.into(),
    ]
}

/// A key that is ordered as the primary key is.
fn model_key(row: &[Value]) -> (String, i64) {
    match (&row[0], &row[1]) {
        (Value::Text(group), Value::Integer(number)) => (group.clone(), *number),
        other => panic!("the key is a text and an integer: {other:?}"),
    }
}

fn all(store: &mut TestStore, name: &str) -> Vec<Vec<Value>> {
    let mut tables = Tables::open(store).unwrap();
    let mut table = tables.table(name).unwrap();
    table.scan(&Scan::default()).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn rows_are_those_of_a_map() {
    let mut store = store();
    Tables::open(&mut store).unwrap().create("items", schema()).unwrap();
    // A neighbour on each side, and plain keys: none is seen or changed.
    Tables::open(&mut store).unwrap().create("other", schema()).unwrap();
    store.put(b"key", b"value").unwrap();
    let (mut model, mut random) = (BTreeMap::new(), Seed(7).source());
    for round in 0..4 {
        let mut tables = Tables::open(&mut store).unwrap();
        let mut table = tables.table("items").unwrap();
        for _ in 0..150 {
            let row = row(&mut random);
            let (key, own) = (model_key(&row), row[..2].to_vec());
            match random.below(4) {
                0 => {
                    table.upsert(&row).unwrap();
                    model.insert(key, row);
                }
                1 => assert_eq!(table.delete(&own), Ok(model.remove(&key).is_some())),
                2 => assert_eq!(table.get(&own), Ok(model.get(&key).cloned())),
                _ => match (table.insert(&row), model.contains_key(&key)) {
                    (Ok(()), false) => drop(model.insert(key, row)),
                    (Err(TableError::Duplicate { .. }), true) => {}
                    other => panic!("{other:?}"),
                },
            }
        }
        for _ in 0..40 {
            let [from, to] = [row(&mut random), row(&mut random)].map(|row| model_key(&row));
            let limit = random.below(20);
            let bound = |key: &(String, i64)| vec![Value::from(key.0.clone()), Value::from(key.1)];
            let scan =
                Scan { from: bound(&from), to: Some(bound(&to)), limit: Some(limit), ..Scan::default() };
            let found: Vec<_> = table.scan(&scan).unwrap().collect::<Result<_, _>>().unwrap();
            let expected = model.iter().filter(|(key, _)| **key >= from && **key < to);
            let expected: Vec<_> = expected.map(|(_, row)| row.clone()).take(limit as usize).collect();
            assert_eq!(found, expected, "from {from:?} to {to:?}");
            let scan = Scan {
                prefix: vec![from.0.clone().into()],
                columns: Some(vec!["number".into(), "blob".into()]),
                ..Scan::default()
            };
            let found: Vec<_> = table.scan(&scan).unwrap().collect::<Result<_, _>>().unwrap();
            let of_group = model.values().filter(|row| row[0] == Value::from(from.0.clone()));
            let expected: Vec<_> = of_group.map(|row| vec![row[1].clone(), row[5].clone()]).collect();
            assert_eq!(found, expected, "of {:?}", from.0);
        }
        store = reopened(store);
        assert_eq!(all(&mut store, "items"), model.values().cloned().collect::<Vec<_>>(), "round {round}");
        assert_eq!(all(&mut store, "other"), Vec::<Vec<Value>>::new());
    }
    assert!(model.len() > 30);
    assert_eq!(store.get(b"key"), Ok(Some(b"value".to_vec())));
}

#[test]
fn added_column_is_null_in_rows_that_are_there() {
    let mut store = store();
    let mut tables = Tables::open(&mut store).unwrap();
    let columns = vec![Column::new("id", Type::Integer), Column::new("name", Type::Text)];
    tables.create("people", Schema::new(columns, &["id"]).unwrap()).unwrap();
    tables.table("people").unwrap().insert(&[1.into(), "Ann".into()]).unwrap();
    let refused = tables.add_column("people", Column::new("age", Type::Integer));
    assert_eq!(refused, Err(SchemaError::AddedNotNull { column: "age".into() }.into()));
    let refused = tables.add_column("people", Column::nullable("name", Type::Integer));
    assert_eq!(refused, Err(SchemaError::Twice { column: "name".into() }.into()));
    tables.add_column("people", Column::nullable("age", Type::Integer)).unwrap();
    tables.table("people").unwrap().insert(&[2.into(), "Bob".into(), 7.into()]).unwrap();
    let mut store = reopened(store);
    let rows = all(&mut store, "people");
    assert_eq!(rows, [[1.into(), "Ann".into(), Value::Null], [2.into(), "Bob".into(), 7.into()]]);
}

#[test]
fn values_that_cannot_be_are_refused_by_column() {
    let mut store = store();
    let mut tables = Tables::open(&mut store).unwrap();
    tables.create("items", schema()).unwrap();
    let mut table = tables.table("items").unwrap();
    let sound = vec!["a".into(), 1.into(), 2.5.into(), Value::Null, true.into(), vec![1].into()];
    let with = |nth: usize, value: Value| {
        let mut row: Vec<Value> = sound.clone();
        row[nth] = value;
        row
    };
    let column = |name: &str| name.to_owned();
    for (row, error) in [
        (with(2, f64::NAN.into()), ValueError::NaN { column: column("weight") }),
        (with(1, Value::Null), ValueError::Null { column: column("number") }),
        (
            with(5, "x".into()),
            ValueError::Kind { column: column("blob"), kind: Type::Bytes, given: Type::Text },
        ),
        (sound[1..].to_vec(), ValueError::Count { given: 5, columns: 6 }),
    ] {
        assert_eq!(table.insert(&row), Err(error.clone().into()));
        assert_eq!(table.upsert(&row), Err(error.into()));
    }
    let count = ValueError::KeyCount { given: 1, allowed: "2".into() };
    assert_eq!(table.get(&["a".into()]), Err(count.into()));
    let unknown = Scan { columns: Some(vec!["wait".into()]), ..Scan::default() };
    assert!(matches!(table.scan(&unknown).err(), Some(TableError::Schema(SchemaError::Unknown { .. }))));
    assert_eq!(table.insert(&sound), Ok(()));
}

#[test]
fn schemas_that_cannot_be_are_refused() {
    let new = |columns: &[&str], key: &[&str]| {
        let columns: Result<Vec<_>, _> = columns.iter().map(|text| Column::parse(text)).collect();
        columns.and_then(|columns| Schema::new(columns, key)).map(drop)
    };
    assert_eq!(new(&["a:integer"], &["a"]), Ok(()));
    assert_eq!(new(&["a:number"], &["a"]), Err(SchemaError::Column { given: "a:number".into() }));
    assert_eq!(new(&["a:text", "a:real"], &["a"]), Err(SchemaError::Twice { column: "a".into() }));
    assert_eq!(new(&["a:text?"], &["a"]), Err(SchemaError::NullableKey { column: "a".into() }));
    assert_eq!(new(&["a:text"], &[]), Err(SchemaError::NoKey));
    assert_eq!(new(&[], &["a"]), Err(SchemaError::Columns { given: 0, most: 1024 }));
    assert_eq!(new(&["a:text"], &["b"]), Err(SchemaError::Unknown { given: "b".into(), known: "a".into() }));
    assert_eq!(new(&["a b:text"], &["a b"]), Err(SchemaError::Name { what: "column", given: "a b".into() }));
}

/// Power is cut after each write of a drop: rows of a dropped table never come back, and the next drop deletes them.
#[test]
fn dropped_table_stays_dropped_after_a_power_cut() {
    let columns = || vec![Column::new("id", Type::Integer), Column::new("text", Type::Text)];
    let schema = || Schema::new(columns(), &["id"]).unwrap();
    let mut store = store();
    let mut tables = Tables::open(&mut store).unwrap();
    tables.create("a", schema()).unwrap();
    let mut table = tables.table("a").unwrap();
    for id in 0..300 {
        table.insert(&[id.into(), "some text of a row".into()]).unwrap();
    }
    let keys = |store: &mut TestStore| {
        let rows = Space::Tables.bulk(b"");
        store.entries(&rows, Some(&Space::Tables.records()[0]), false).count()
    };
    assert_eq!(keys(&mut store), 300);
    // As drop_table begins, and a part of what it does then.
    store.delete(&Space::Tables.record(b's', b"a")).unwrap();
    let some: Vec<_> = (0..100_i64)
        .map(|id| {
            let mut rest = 1_u32.to_be_bytes().to_vec();
            crate::key::put(&mut rest, &id.into());
            Space::Tables.bulk(&rest)
        })
        .collect();
    store.delete_all(some, Durability::Device).unwrap();
    let mut left = cut(&mut store);
    assert_eq!(keys(&mut left), 200);
    let mut tables = Tables::open(&mut left).unwrap();
    assert_eq!(tables.list(), Ok(Vec::new()));
    tables.create("a", schema()).unwrap();
    assert_eq!(all(&mut left, "a"), Vec::<Vec<Value>>::new());
    assert_eq!(keys(&mut left), 0);
    Tables::open(&mut left).unwrap().drop_table("a").unwrap();
    let mut after = cut(&mut left);
    assert_eq!(
        Tables::open(&mut after).unwrap().table("a").err(),
        Some(TableError::Missing { table: "a".into() })
    );
}

#[test]
fn records_in_several_slices_are_refused() {
    let (device, log) = devices();
    let bounds = vec![Vec::new(), Space::Tables.record(b's', b"m")];
    let mut store = KeyValueStore::create(device, log, 1, Slices { bounds }).unwrap();
    assert_eq!(Tables::open(&mut store).err(), Some(TableError::Parted));
    // Rows may.
    let (device, log) = devices();
    let bounds = vec![Vec::new(), Space::Tables.bulk(&[0, 0, 0, 1, 0x80, 0, 0, 0, 0, 0, 0, 5])];
    let mut store = KeyValueStore::create(device, log, 1, Slices { bounds }).unwrap();
    let mut tables = Tables::open(&mut store).unwrap();
    tables.create("a", Schema::new(vec![Column::new("id", Type::Integer)], &["id"]).unwrap()).unwrap();
    for id in 0..10 {
        tables.table("a").unwrap().insert(&[id.into()]).unwrap();
    }
    assert_eq!(all(&mut store, "a").len(), 10);
    assert_eq!(store.status().last_sequence, 11);
    Tables::open(&mut store).unwrap().drop_table("a").unwrap();
    assert_eq!(store.entries(&Space::Tables.bulk(b""), Some(&Space::Tables.records()[0]), false).count(), 0);
}

#[test]
fn table_of_a_full_device_is_dropped_and_its_space_comes_back() {
    let device = MemoryLanes::new(4, 16, 8192, 512, Seed(1));
    let log = MemoryDisk::new(256 << 10, 512, Seed(1));
    let mut store = KeyValueStore::create(device, log, 1, Slices::even(1)).unwrap();
    let mut tables = Tables::open(&mut store).unwrap();
    let columns = || vec![Column::new("id", Type::Integer), Column::new("bytes", Type::Bytes)];
    let row = |id: i64| [id.into(), vec![7_u8; 1000].into()];
    for name in ["kept", "full"] {
        tables.create(name, Schema::new(columns(), &["id"]).unwrap()).unwrap();
    }
    tables.table("kept").unwrap().insert(&row(1)).unwrap();
    let mut full = tables.table("full").unwrap();
    let refused = (0..10_000).find_map(|id| Some((id, full.upsert(&row(id)).err()?)));
    let (count, error) = refused.expect("the device fills up");
    assert!(matches!(error, TableError::Store(StoreError::Write(WriteError::Full { .. }))), "{error}");
    tables.drop_table("full").unwrap();
    let mut kept = tables.table("kept").unwrap();
    for id in 0..count / 2 {
        kept.upsert(&row(id)).expect("deletes give space back");
    }
    assert_eq!(all(&mut store, "kept").len() as i64, count / 2);
}

#[test]
fn rows_that_may_be_lost_are_errors_and_tables_stay_as_they_are() {
    let mut store = store();
    let schema = Schema::new(vec![Column::new("id", Type::Integer), Column::new("v", Type::Text)], &["id"]);
    Tables::open(&mut store).unwrap().create("t", schema.clone().unwrap()).unwrap();
    let row = |id: i64| [Value::Integer(id), Value::from("v".repeat(100).as_str())];
    for id in 0..200 {
        Tables::open(&mut store).unwrap().table("t").unwrap().insert(&row(id)).unwrap();
    }
    store.store().flush();
    store.store().settle();
    let units: Vec<_> = store.store().blocks().list().map(|info| info.address).collect();
    let (device, log) = store.into_store().into_devices();
    let (mut found, mut lost) = (0, 0);
    for address in units {
        let mut device = device.clone();
        let unit = address.unit as usize * 8192;
        device.lane_mut(flashlane_device::Lane(address.lane))[unit..unit + 8192].fill(0x5a);
        let mut store = KeyValueStore::open(device, log.clone()).expect("the rest is there");
        let Ok(mut tables) = Tables::open(&mut store) else { continue };
        assert!(matches!(tables.create("u", schema.clone().unwrap()), Err(TableError::Lossy(_))));
        assert!(matches!(tables.drop_table("t"), Err(TableError::Lossy(_))));
        let Ok(mut table) = tables.table("t") else { continue };
        for id in 0..200 {
            match table.get(&[Value::Integer(id)]) {
                Ok(Some(own)) => {
                    assert_eq!(own, row(id));
                    found += 1;
                }
                Ok(None) => panic!("row {id} may be lost"),
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains("may be lost: 1 damaged unit"), "{text}");
                    assert!(table.insert(&row(id)).is_err() && table.delete(&[Value::Integer(id)]).is_err());
                    lost += 1;
                }
            }
        }
    }
    assert!(found > 200 && lost >= 100, "{found} rows found, {lost} lost");
}
