//! Tables of a store, on the command line.

use crate::program::{json, text};
use crate::store::Kept;

const CREATE: [&str; 7] =
    ["people", "city:text", "id:integer", "weight:real?", "note:text?", "photo:bytes?", "--key=city,id"];

/// A store with a table.
fn kept() -> Kept {
    let kept = Kept::new("8MiB");
    assert_eq!(table(&kept, "create", &CREATE), "people: created, durability: device\n");
    kept
}

fn table(kept: &Kept, action: &str, more: &[&str]) -> String {
    crate::program::done(&[&["store", "table", action, &kept.spec], more].concat())
}

fn refused(kept: &Kept, status: i32, action: &str, more: &[&str], parts: &[&str]) {
    crate::program::refused(status, &[&["store", "table", action, &kept.spec], more].concat(), parts);
}

#[test]
fn table_keeps_rows_for_its_whole_life() {
    let kept = kept();
    kept.store("put", &["plain", "--value", "1"]);
    table(&kept, "insert", &["people", "city=Bern", "id=-3", "note=", "weight=2.5"]);
    table(&kept, "insert", &["people", "city=Bern", "id=10", "photo=\\x00a\\\\"]);
    let again = ["people", "city=Bern", "id=10", "note=new"];
    refused(&kept, 1, "insert", &again, &["a row with key Bern, 10 already", "--replace"]);
    table(&kept, "insert", &["people", "city=Basel", "id=7", "weight=1e300", "note=a\tb"]);
    let rows = "city,id,weight,note,photo\r\nBasel,7,1000000000000000000000000000000000000000000000000000000000000\
                0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\
                0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\
                0000000000000000000000000000000000000000,\"a\tb\",\r\nBern,-3,2.5,\"\",\r\nBern,10,,,\\x00a\\\\\r\n";
    let csv = table(&kept, "scan", &["people", "--format", "csv"]);
    assert_eq!(csv, rows.replace("\"a\tb\"", "a\tb"));
    let some = ["people", "--prefix", "Bern", "--from", "Bern", "--from=-2", "--columns", "id,note"];
    assert_eq!(table(&kept, "scan", &some), "id\tnote\n10\t\n");
    assert_eq!(table(&kept, "scan", &["people", "--to", "Bern", "--columns", "note"]), "note\na\\tb\n");
    let found = json(&["store", "table", "scan", &kept.spec, "people", "--limit", "2"]);
    assert_eq!(found["schema"], "flashlane.rows/1");
    assert_eq!(found["rows"].as_array().unwrap().len(), 2);
    assert_eq!(
        found["rows"][1],
        serde_json::json!({
            "city": "Bern", "id": -3, "weight": 2.5, "note": "", "photo": null
        })
    );
    let row = json(&["store", "table", "get", &kept.spec, "people", "Bern", "-3"]);
    assert_eq!((&row["row"]["note"], &row["row"]["photo"]), (&"".into(), &serde_json::Value::Null));
    // A scan is the input of an import, into a table of the same columns.
    let other = self::kept();
    let file = other.file("rows.csv", &csv);
    assert_eq!(table(&other, "import", &["people", text(&file)]), "3 rows stored, durability: device\n");
    assert_eq!(table(&other, "scan", &["people", "--format", "csv"]), csv);
    table(&kept, "add-column", &["people", "age:integer?"]);
    table(&kept, "insert", &["people", "city=Bern", "id=10", "age=5", "--replace"]);
    let ages = table(&kept, "scan", &["people", "--columns", "age,id", "--format", "csv"]);
    assert_eq!(ages, "age,id\r\n,7\r\n,-3\r\n5,10\r\n");
    table(&kept, "rm", &["people", "Bern", "-3"]);
    refused(&kept, 1, "get", &["people", "Bern", "-3"], &["no row with key Bern, -3"]);
    refused(&kept, 1, "rm", &["people", "Bern", "-3"], &["no row with key Bern, -3"]);
    let listed = json(&["store", "table", "ls", &kept.spec]);
    assert_eq!(
        listed["tables"],
        serde_json::json!([{ "name": "people", "columns": 6, "key": ["city", "id"] }])
    );
    let described = json(&["store", "table", "describe", &kept.spec, "people"]);
    assert_eq!(
        described["columns"][5],
        serde_json::json!({ "name": "age", "type": "integer", "nullable": true })
    );
    // Plain commands do not see tables.
    assert_eq!(kept.store("scan", &[]), "plain\n");
    assert_eq!(json(&["store", "stat", &kept.spec, "--count"])["keys"], 1);
    table(&kept, "drop", &["people"]);
    assert_eq!(table(&kept, "ls", &[]), "");
    refused(&kept, 1, "drop", &["people"], &["no table 'people'", "table ls"]);
}

#[test]
fn rows_of_other_types_are_refused() {
    let kept = kept();
    let insert =
        |more: &[&str], parts: &[&str]| refused(&kept, 2, "insert", &[&["people"], more].concat(), parts);
    insert(&["city=Bern", "id=x"], &["'x' is no value of column 'id' (integer)", "64 bits"]);
    insert(&["city=Bern", "id=1", "weight=nan"], &["column 'weight' cannot be NaN"]);
    insert(&["city=Bern"], &["column 'id' needs a value"]);
    insert(&["city=Bern", "id=1", "age=3"], &["no column 'age'", "city, id, weight"]);
    insert(&["city=Bern", "id=1", "id=2"], &["column 'id' is there twice"]);
    refused(&kept, 2, "get", &["people", "Bern"], &["1 values of a key", "2 are allowed"]);
    refused(
        &kept,
        2,
        "scan",
        &["people", "--prefix=a", "--prefix=1", "--prefix=2"],
        &["3 values", "at most 2"],
    );
    refused(&kept, 1, "create", &CREATE, &["there is a table 'people' already"]);
}

#[test]
fn rows_before_a_refused_one_are_imported() {
    let kept = kept();
    let import = |text_of_file: &str, status: i32, parts: &[&str]| {
        let file = kept.file("rows.csv", text_of_file);
        refused(&kept, status, "import", &["people", text(&file)], parts);
    };
    import(
        "city,id\r\nBern,1\r\n\"two\nlines\",2\r\nBern,x\r\n",
        1,
        &["line 5 of", "'x' is no value", "before it: 2 rows"],
    );
    import("city,id\nBern\n", 2, &["line 2 of", "1 fields", "0 rows"]);
    import("city,age\n", 2, &["must name columns", "no column 'age'"]);
    import("", 2, &["must name columns"]);
    assert_eq!(table(&kept, "scan", &["people", "--columns", "id"]), "id\n1\n2\n");
}
