//! CSV of tables: records that were read are the same after writing and reading them, null and empty text apart.

use crate::Target;
use flashlane_store_tables::csv::{Field, Reader, line};
use flashlane_store_tables::{Column, Type, Value};

pub const TARGET: Target = Target {
    name: "table_csv",
    body,
    seeds: &[
        "city,year,people\r\nBern,2020,134794\r\n\"Basel, Stadt\",2020,\r\n",
        "a,\"b \"\"c\"\"\",\"\"\n\n\"two\nlines\", x ,\r\n",
        "\"open",
        "\"a\"b,c",
        "\u{e9},\\x00,\u{1f980}\r",
    ],
};

fn body(input: &[u8]) {
    let column = Column::nullable("column", Type::Text);
    let values = |record: &[Field]| -> Vec<Value> {
        record.iter().map(|field| field.value(&column).expect("any field is a nullable text")).collect()
    };
    let mut reader = Reader::new(input);
    loop {
        let record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty() && reader.line() > 0);
                break;
            }
        };
        let found = values(&record);
        let text = line(&found);
        // One null is an empty line, which is no record.
        let again = Reader::new(text.as_bytes()).next_record().expect("what is written can be read");
        assert_eq!(again.map_or_else(|| vec![Value::Null], |record| values(&record)), found, "{text:?}");
    }
}
