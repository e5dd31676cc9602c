//! The row of a swept key in the result.

use crate::values::Key;
use flashlane_base::units::Quantity;
use flashlane_result::sweep::KeyRow;

impl From<&Key> for KeyRow {
    fn from(key: &Key) -> Self {
        let unit = key.numbers.as_ref().map(|(quantity, _)| match quantity {
            Quantity::Size => "B",
            Quantity::Time => "ns",
            Quantity::Rate => "B/s",
            Quantity::Share => "share",
            Quantity::Count => "count",
        });
        Self {
            key: key.name.clone(),
            values: key.values.clone(),
            numbers: key.numbers.as_ref().map(|(_, numbers)| numbers.clone()),
            unit: unit.map(str::to_owned),
        }
    }
}
