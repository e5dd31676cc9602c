//! Settings of `zoned(PATH,…)`, a real drive whose spec has the form of a layer.

use crate::error::OpenError;
use flashlane_base::units::parse_bytes;

/// The settings of a zoned drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ZonedSettings {
    pub(crate) lanes: Option<u32>,
    pub(crate) write_unit_bytes: Option<u64>,
}

impl ZonedSettings {
    pub(crate) fn read(settings: &[(String, String)]) -> Result<Self, OpenError> {
        let mut read = Self::default();
        for (key, given) in settings {
            let refused =
                |reason: String| OpenError::ZonedSetting { key: key.clone(), given: given.clone(), reason };
            let is_repeated = match key.as_str() {
                "lanes" => {
                    let lanes = given.parse().map_err(|_| refused("a count is expected".into()))?;
                    read.lanes.replace(lanes).is_some()
                }
                "write-unit" => {
                    let bytes = parse_bytes(given).map_err(|error| refused(error.to_string()))?;
                    read.write_unit_bytes.replace(bytes).is_some()
                }
                _ => return Err(refused("it knows lanes and write-unit".into())),
            };
            if is_repeated {
                return Err(refused("it is given twice".into()));
            }
        }
        Ok(read)
    }
}
