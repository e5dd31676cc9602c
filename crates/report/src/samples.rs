//! Samples as a Parquet file.
//!
//! Parquet rather than compressed CSV: types are preserved, pandas, DuckDB and Polars read it directly, and with deltas
//! and Snappy a million latencies take 2 to 4 MB. The crate is used without Arrow, which keeps its build at some ten
//! seconds.

use crate::ReportError;
use parquet::basic::{Compression, Encoding};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{DoubleType, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;

/// Rows compressed and indexed together.
const ROWS_A_GROUP: usize = 1 << 20;

/// Data of each request: named columns of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    columns: Vec<(String, Values)>,
}

/// A column's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers: times in ns, offsets and lengths in bytes.
    U64(Vec<u64>),
    /// Other numbers.
    F64(Vec<f64>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::U64(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }
}

impl Samples {
    /// Creates samples without columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column of whole numbers.
    ///
    /// # Errors
    /// [`ReportError::Column`] where the name exists, or has characters other than letters, digits and `_`, or the
    /// length differs from that of earlier columns.
    pub fn with_u64(self, name: &str, values: Vec<u64>) -> Result<Self, ReportError> {
        self.with(name, Values::U64(values))
    }

    /// Adds a column of floating-point numbers.
    ///
    /// # Errors
    /// As [`Samples::with_u64`].
    pub fn with_f64(self, name: &str, values: Vec<f64>) -> Result<Self, ReportError> {
        self.with(name, Values::F64(values))
    }

    fn with(mut self, name: &str, values: Values) -> Result<Self, ReportError> {
        let refuse = |reason: String| Err(ReportError::Column { name: name.to_owned(), reason });
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(word) {
            return refuse("allowed are letters, digits and '_', with no digit first".into());
        }
        if self.columns.iter().any(|(other, _)| other == name) {
            return refuse("a column of this name exists".into());
        }
        if let Some((other, first)) = self.columns.first().filter(|(_, first)| first.len() != values.len()) {
            return refuse(format!("it has {} values, '{other}' has {}", values.len(), first.len()));
        }
        self.columns.push((name.to_owned(), values));
        Ok(self)
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, values)| values.len())
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the column of whole numbers of this name; `None` where there is no such column.
    pub fn u64(&self, name: &str) -> Option<&[u64]> {
        self.columns.iter().find_map(|(other, values)| match values {
            Values::U64(values) if other == name => Some(&values[..]),
            _ => None,
        })
    }

    /// Reads the samples that [`write_all`](crate::write_all) wrote to `path`; `None` where there is no such file.
    ///
    /// # Errors
    /// [`ReportError::Read`] where the file cannot be read, is not Parquet, or has columns of other types.
    pub fn read(path: &Path) -> Result<Option<Self>, ReportError> {
        let unusable = |reason: String| ReportError::Read { path: path.to_owned(), reason };
        match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(error.to_string())),
            Ok(file) => Self::parse(file).map(Some).map_err(|error| unusable(error.to_string())),
        }
    }

    fn parse(file: impl ChunkReader + 'static) -> Result<Self, parquet::errors::ParquetError> {
        let reader = SerializedFileReader::new(file)?;
        let columns = reader.metadata().file_metadata().schema_descr().columns().to_vec();
        let mut samples = Self::default();
        for (at, column) in columns.iter().enumerate() {
            let mut values = Values::U64(Vec::new());
            for group in 0..reader.num_row_groups() {
                read_column(&*reader.get_row_group(group)?, at, &mut values)?;
            }
            samples =
                samples.with(column.name(), values).map_err(|error| parquet_error(error.to_string()))?;
        }
        Ok(samples)
    }

    /// Writes one Parquet file.
    pub(crate) fn write(&self, out: impl Write + Send) -> io::Result<()> {
        let fields: String = self.columns.iter().map(|(name, values)| field(name, values)).collect();
        let schema =
            parse_message_type(&format!("message samples {{ {fields} }}")).map_err(io::Error::other)?;
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("flashlane ", env!("CARGO_PKG_VERSION")).into())
            .set_compression(Compression::SNAPPY)
            // Readers skip groups of rows by them, and most files have one group.
            .set_statistics_enabled(EnabledStatistics::None)
            .set_dictionary_enabled(false);
        for (name, values) in &self.columns {
            if matches!(values, Values::U64(_)) {
                let path = ColumnPath::from(name.as_str());
                properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
        }
        let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?;
        for start in (0..self.len()).step_by(ROWS_A_GROUP) {
            let end = self.len().min(start + ROWS_A_GROUP);
            let mut group = file.next_row_group()?;
            for (_, values) in &self.columns {
                write_column(&mut group, values, start, end)?;
            }
            group.close()?;
        }
        file.close()?;
        Ok(())
    }
}

fn field(name: &str, values: &Values) -> String {
    match values {
        Values::U64(_) => format!("REQUIRED INT64 {name} (INTEGER(64,false)); "),
        Values::F64(_) => format!("REQUIRED DOUBLE {name}; "),
    }
}

/// Appends the values of a column in one row group.
fn read_column(
    group: &dyn RowGroupReader,
    at: usize,
    values: &mut Values,
) -> Result<(), parquet::errors::ParquetError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let read = match group.get_column_reader(at)? {
        ColumnReader::Int64ColumnReader(mut column) => {
            let mut bits = Vec::new();
            let read = column.read_records(rows, None, None, &mut bits)?.1;
            let Values::U64(values) = values else { return Err(parquet_error("a column changes its type")) };
            values.extend(bits.into_iter().map(|bits| bits as u64));
            read
        }
        ColumnReader::DoubleColumnReader(mut column) => {
            if values.len() == 0 {
                *values = Values::F64(Vec::new());
            }
            let Values::F64(values) = values else { return Err(parquet_error("a column changes its type")) };
            column.read_records(rows, None, None, values)?.1
        }
        _ => return Err(parquet_error("a column has neither whole nor floating-point numbers")),
    };
    if read == rows { Ok(()) } else { Err(parquet_error("a column is shorter than its group of rows")) }
}

fn parquet_error(reason: impl Into<String>) -> parquet::errors::ParquetError {
    parquet::errors::ParquetError::General(reason.into())
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &Values,
    start: usize,
    end: usize,
) -> io::Result<()> {
    let mut column = group.next_column()?.expect("the schema has a field for every column");
    match values {
        Values::U64(values) => {
            // The format stores unsigned numbers as the bits of signed ones.
            let bits: Vec<i64> = values[start..end].iter().map(|value| *value as i64).collect();
            column.typed::<Int64Type>().write_batch(&bits, None, None)?;
        }
        Values::F64(values) => {
            column.typed::<DoubleType>().write_batch(&values[start..end], None, None)?;
        }
    }
    column.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::record::RowAccessor;

    #[test]
    fn written_samples_are_read_back() {
        let samples = Samples::new()
            .with_u64("latency_ns", vec![1, u64::MAX, 25_000])
            .and_then(|samples| samples.with_f64("share", vec![0.5, -1.0, f64::INFINITY]))
            .unwrap();
        let mut bytes = Vec::new();
        samples.write(&mut bytes).unwrap();
        let bytes = bytes::Bytes::from(bytes);
        let reader = SerializedFileReader::new(bytes.clone()).unwrap();
        let rows: Vec<(u64, f64)> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.and_then(|row| Ok((row.get_ulong(0)?, row.get_double(1)?))).unwrap())
            .collect();
        assert_eq!(rows, [(1, 0.5), (u64::MAX, -1.0), (25_000, f64::INFINITY)]);
        assert_eq!(Samples::parse(bytes).unwrap(), samples);
    }

    #[test]
    fn several_row_groups_are_read_and_damage_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples.parquet");
        assert_eq!(Samples::read(&path).unwrap(), None);
        let values: Vec<u64> = (0..ROWS_A_GROUP as u64 + 5).map(|n| n * n).collect();
        let samples = Samples::new().with_u64("latency_ns", values.clone()).unwrap();
        samples.write(File::create(&path).unwrap()).unwrap();
        assert_eq!(Samples::read(&path).unwrap().unwrap().u64("latency_ns"), Some(&values[..]));
        std::fs::write(&path, b"PAR1 but no more").unwrap();
        let error = Samples::read(&path).unwrap_err().to_string();
        assert!(error.contains("samples.parquet"), "{error}");
    }

    #[test]
    fn file_without_samples_is_valid() {
        let mut bytes = Vec::new();
        Samples::new().with_u64("latency_ns", vec![]).unwrap().write(&mut bytes).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }

    #[test]
    fn invalid_column_is_refused_by_name() {
        let samples = || Samples::new().with_u64("a", vec![1, 2]).unwrap();
        for (name, values) in
            [("b", vec![1]), ("a", vec![1, 2]), ("", vec![1, 2]), ("b;c", vec![1, 2]), ("1", vec![1, 2])]
        {
            let error = samples().with_u64(name, values).unwrap_err().to_string();
            assert!(error.contains(&format!("'{name}'")), "{error}");
        }
    }
}
