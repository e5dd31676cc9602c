//! Measurements as CSV (RFC 4180): a line for each number, with its unit.
//!
//! ```text
//! workload,quantity,value,source
//! "random-read,size=4KiB,depth=32",mean,116us,"CLUSTER 2023"
//! "random-read,size=4KiB,depth=32",rate,274k/s,"CLUSTER 2023"
//! ```

use crate::measurement::{Measurement, Quantity, ReadError};
use flashlane_base::units::{exact_bytes, parse_count, parse_duration, parse_rate};
use flashlane_workload::Workload;

/// The columns that are read; others are refused by name.
const COLUMNS: [&str; 4] = ["workload", "quantity", "value", "source"];

/// Longest line: refusals quote what they refuse.
const LINE_BYTES: usize = 1024;

/// Reads all lines but empty ones and those that begin with `#`.
pub(crate) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    if let Some(at) = text.lines().position(|line| line.len() > LINE_BYTES) {
        let reason = format!("it is longer than {}", exact_bytes(LINE_BYTES as u64));
        return Err(ReadError::new(format!("line {}", at + 1), None, reason));
    }
    let lines = (1..).zip(text.lines());
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let Some((number, header)) = lines.next() else { return Ok(Vec::new()) };
    let names = fields(header, number)?;
    let mut places = [None; COLUMNS.len()];
    for (at, name) in names.iter().enumerate() {
        let known = COLUMNS.iter().position(|column| *column == name.trim().to_lowercase());
        let Some(known) = known else {
            let allowed = COLUMNS.join(", ");
            let reason = format!("there is no column '{name}'; allowed: {allowed}");
            return Err(ReadError::new(format!("line {number}"), None, reason));
        };
        if places[known].replace(at).is_some() {
            let reason = format!("the column '{name}' occurs twice");
            return Err(ReadError::new(format!("line {number}"), None, reason));
        }
    }
    if let Some(missing) = (0..3).find(|&column| places[column].is_none()) {
        let reason =
            format!("the column '{}' is missing; required: workload, quantity, value", COLUMNS[missing]);
        return Err(ReadError::new(format!("line {number}"), None, reason));
    }
    lines.map(|(number, line)| row(number, &fields(line, number)?, &places, names.len())).collect()
}

fn row(
    number: usize,
    fields: &[String],
    places: &[Option<usize>; 4],
    columns: usize,
) -> Result<Measurement, ReadError> {
    let place = format!("line {number}");
    if fields.len() != columns {
        let reason = format!(
            "it has {} fields, the header {columns}; a workload with commas stands in quotes",
            fields.len()
        );
        return Err(ReadError::new(place, None, reason));
    }
    let field = |column: usize| places[column].map_or("", |at| fields[at].trim());
    let refuse = |column: usize, reason: String| ReadError::new(&*place, Some(COLUMNS[column]), reason);
    let workload = Workload::parse(field(0)).map_err(|error| refuse(0, error.to_string()))?;
    let quantity = Quantity::parse(field(1)).ok_or_else(|| {
        refuse(1, format!("'{}' is unknown; allowed: mean, rate, bandwidth, p50, p99, p99.9 …", field(1)))
    })?;
    let value = value(quantity, field(2)).map_err(|reason| refuse(2, reason))?;
    Ok(Measurement { workload, quantity, value, place, source: field(3).into() })
}

/// Reads a number with the unit of its quantity.
pub(crate) fn value(quantity: Quantity, text: &str) -> Result<f64, String> {
    let value = match quantity {
        Quantity::Mean | Quantity::Percentile(_) => {
            parse_duration(text).map(|time| time.as_ns() as f64).map_err(|error| error.to_string())?
        }
        Quantity::Bandwidth => parse_rate(text).map(|rate| rate as f64).map_err(|error| error.to_string())?,
        Quantity::Rate => {
            let count = text.strip_suffix("/s").ok_or_else(|| {
                format!("'{text}' is not a rate of requests: the unit is missing; write it like '274k/s'")
            })?;
            parse_requests(count).map_err(|reason| format!("'{text}' is not a rate of requests: {reason}"))?
        }
    };
    if value > 0.0 { Ok(value) } else { Err(format!("'{text}' is zero; allowed: more")) }
}

/// Reads a count of requests, of which a rate may have a fraction: `k` is a thousand here.
fn parse_requests(text: &str) -> Result<f64, String> {
    match (parse_count(text), text.parse::<f64>()) {
        (Ok(count), _) => Ok(count as f64),
        (Err(_), Ok(number)) if number.is_finite() && number > 0.0 => Ok(number),
        (Err(error), _) => Err(error.reason),
    }
}

/// Splits a line at its commas, outside quotes.
fn fields(line: &str, number: usize) -> Result<Vec<String>, ReadError> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars().peekable();
    let mut quoted = false;
    while let Some(char) = chars.next() {
        let field = fields.last_mut().expect("there is one");
        match char {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => field.push(char),
        }
    }
    if quoted {
        return Err(ReadError::new(format!("line {number}"), None, "a quote is not closed"));
    }
    Ok(fields)
}
