//! Warnings in results.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// A warning about a result, converted from a typed doubt of the measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Identity for programs.
    pub code: WarningCode,
    /// Message for the reader.
    pub message: String,
    /// For devices that store blocks: the erase units concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
}

impl Warning {
    /// Creates a warning.
    pub fn new(code: impl Into<WarningCode>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), units: Vec::new() }
    }
}

/// Defines the codes that our own code looks for, with their names in JSON.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident: $name:literal;)*) => {
        /// The identity of a warning: in JSON a short, stable name.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum WarningCode {
            $($(#[$doc])* $code,)*
            /// One that only readers of a result look for.
            Other(Cow<'static, str>),
        }

        impl WarningCode {
            /// Returns the name in JSON.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$code => $name,)*
                    Self::Other(name) => name,
                }
            }
        }

        impl From<Cow<'static, str>> for WarningCode {
            fn from(name: Cow<'static, str>) -> Self {
                match &*name {
                    $($name => Self::$code,)*
                    _ => Self::Other(name),
                }
            }
        }
    };
}

codes! {
    /// The measurement ended early.
    Partial: "partial";
    /// The trace ends before its end was recorded.
    TraceIncomplete: "trace-incomplete";
    /// Data was read that had not been written.
    VerificationFailed: "verification-failed";
    /// Reads failed, and the measurement went on.
    ReadsFailed: "reads-failed";
    /// Verification was requested, and nothing could be verified.
    NothingVerified: "nothing-verified";
    /// Requests of a trace were left out.
    LeftOut: "left-out";
    /// The device did not keep up with the trace.
    Overloaded: "overloaded";
    /// The device did not keep up with the transactions that were recorded.
    BehindRecording: "behind-recording";
    /// The device did not keep up with the rate of the workload.
    RateNotKept: "rate-not-kept";
    /// Replies of a served device were late.
    RepliesLate: "replies-late";
    /// The times of a served drive were stretched.
    Stretched: "stretched";
    /// The time stamps of a trace run backwards.
    TimeBackwards: "time-runs-backwards";
    /// The drive was written and no block was erased.
    NothingCleaned: "nothing-cleaned";
    /// GC gave back fewer or more pages than the writes took.
    GcOutOfBalance: "gc-out-of-balance";
    /// Many of the pages written were still in the drive's buffer at the end.
    LeftInBuffer: "left-in-buffer";
    /// Latencies changed during the run.
    Unsteady: "unsteady";
    /// Pages were read that were never written.
    NotWritten: "not-written";
    /// Whether all of the device was ever written is not known.
    StateUnknown: "state-unknown";
    /// Nothing was written, so that some properties were not measured.
    ReadOnly: "read-only";
    /// A part of the device only was measured.
    PartOfDevice: "part-of-device";
    /// The probe changed the order of the drive's pages.
    LayoutChanged: "layout-changed";
}

impl From<&'static str> for WarningCode {
    fn from(name: &'static str) -> Self {
        Cow::Borrowed(name).into()
    }
}

impl From<String> for WarningCode {
    fn from(name: String) -> Self {
        Cow::<'static, str>::Owned(name).into()
    }
}

impl From<WarningCode> for String {
    fn from(code: WarningCode) -> Self {
        code.name().to_owned()
    }
}

impl fmt::Display for WarningCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_the_same_from_a_name_and_from_json() {
        for (name, code) in [("partial", WarningCode::Partial), ("rare", WarningCode::Other("rare".into()))] {
            assert_eq!(WarningCode::from(name), code);
            let json = serde_json::to_string(&code).unwrap();
            assert_eq!(json, format!("{name:?}"));
            assert_eq!(serde_json::from_str::<WarningCode>(&json).unwrap(), code);
        }
    }
}
