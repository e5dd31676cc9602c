//! Errors of a study.

use flashlane_measure::Interruption;
use flashlane_probe::EarlyEnd;
use flashlane_sim::{ConfigError, MakeError};

/// A study failed.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// There is no paper of this name.
    #[error("there is no study of '{given}'; there are: {known}")]
    UnknownPaper {
        /// The name given.
        given: String,
        /// All papers, separated by commas.
        known: String,
    },
    /// The paper has no such figure, or none that is studied.
    #[error("the study of {paper} has no figure '{given}'; there are: {known}")]
    UnknownFigure {
        /// The paper.
        paper: &'static str,
        /// The figure given.
        given: String,
        /// All its figures, separated by commas.
        known: String,
    },
    /// A figure could not be measured.
    #[error("{paper}, {figure}: {source}")]
    Figure {
        /// The paper.
        paper: &'static str,
        /// The figure.
        figure: &'static str,
        /// The reason.
        source: Box<FigureError>,
    },
}

/// A figure could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// The drive's profile refuses the study's settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A drive cannot be made.
    #[error(transparent)]
    Make(MakeError),
    /// A layer does not suit its drive.
    #[error(transparent)]
    Layer(#[from] flashlane_layer::LayerError),
    /// A trace cannot be opened.
    #[error(transparent)]
    Trace(#[from] flashlane_trace::OpenError),
    /// A trace cannot be read to its end.
    #[error(transparent)]
    TraceEnd(#[from] flashlane_trace::ReadError),
    /// A trace cannot be replayed.
    #[error(transparent)]
    Replay(#[from] flashlane_measure::ReplayError),
    /// A recording of transactions cannot be opened.
    #[error(transparent)]
    Recording(#[from] flashlane_transactions::recording::OpenError),
    /// A recording of transactions cannot be read to its end.
    #[error("a recording of transactions {0}")]
    RecordingEnd(String),
    /// The cost model of a drive cannot be measured.
    #[error(transparent)]
    Advise(flashlane_advise::AdviseError),
    /// Transactions do not fit the drive.
    #[error(transparent)]
    Transactions(#[from] flashlane_transactions::Unfit),
    /// uFLIP cannot be run on the drive.
    #[error(transparent)]
    Uflip(flashlane_uflip::UflipError),
    /// The drive failed, or the caller stopped the study.
    #[error(transparent)]
    Interrupted(#[from] Interruption),
}

impl From<MakeError> for FigureError {
    fn from(error: MakeError) -> Self {
        match error {
            MakeError::Stopped => Interruption::Stopped.into(),
            error => Self::Make(error),
        }
    }
}

impl From<EarlyEnd> for FigureError {
    fn from(end: EarlyEnd) -> Self {
        match end {
            EarlyEnd::Interrupted(interruption) => Self::Interrupted(interruption),
            EarlyEnd::OutOfTime => {
                unreachable!("a study's experiments have no limit of time")
            }
        }
    }
}

impl From<flashlane_uflip::UflipError> for FigureError {
    fn from(error: flashlane_uflip::UflipError) -> Self {
        match error {
            flashlane_uflip::UflipError::Stopped => Self::Interrupted(Interruption::Stopped),
            error => Self::Uflip(error),
        }
    }
}

impl From<flashlane_advise::AdviseError> for FigureError {
    fn from(error: flashlane_advise::AdviseError) -> Self {
        match error {
            flashlane_advise::AdviseError::Stopped => Self::Interrupted(Interruption::Stopped),
            error => Self::Advise(error),
        }
    }
}
