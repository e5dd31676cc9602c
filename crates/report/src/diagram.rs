//! The picture of a probed drive: its parts on the way of a request, and how certain each is.
//!
//! It is drawn for a page and a file (`drawing`) and, small, for a terminal (`text`), with the same labels.

pub(crate) mod drawing;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use crate::format::capitalised;

/// How certain a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// Stated with a high confidence.
    Certain,
    /// Stated with a lower one.
    Likely,
    /// Not stated.
    Open,
}

/// A part of a drive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// What it is: `Write buffer`.
    pub name: &'static str,
    /// Its value for people; `?` where it is open, `none` where the drive has no such part.
    pub value: String,
    /// Its value, where that is a whole number.
    pub number: Option<u64>,
    pub certainty: Certainty,
}

impl Part {
    /// Returns the value, marked where it is not certain.
    fn marked(&self) -> String {
        match self.certainty {
            Certainty::Certain | Certainty::Open => self.value.clone(),
            Certainty::Likely => format!("{} ~", self.value),
        }
    }
}

/// The parts of a drive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DriveDiagram {
    pub link: Part,
    /// What the controller has: write buffer, readahead, mapping.
    pub controller: [Part; 3],
    pub domains: Part,
    pub sub_domains: Part,
    pub chunk: Part,
    pub page: Part,
}

impl DriveDiagram {
    fn parts(&self) -> impl Iterator<Item = &Part> {
        let flash = [&self.domains, &self.sub_domains, &self.chunk, &self.page];
        std::iter::once(&self.link).chain(&self.controller).chain(flash)
    }

    fn has(&self, certainty: Certainty) -> bool {
        self.parts().any(|part| part.certainty == certainty)
    }

    /// Returns the numbers of domains, sub-domains and bytes in a sentence, each as `shown`.
    fn summary(&self, shown: impl Fn(&Part) -> String) -> String {
        let domains = match self.domains.number {
            Some(1) => format!("{} domain", shown(&self.domains)),
            Some(_) => format!("{} domains", shown(&self.domains)),
            None => "an unknown number of domains".into(),
        };
        let sub_domains = match self.sub_domains.number {
            Some(1) => format!("{} sub-domain each", shown(&self.sub_domains)),
            Some(_) => format!("{} sub-domains each", shown(&self.sub_domains)),
            None => "an unknown number of sub-domains each".into(),
        };
        let size = |part: &Part| if part.number.is_some() { shown(part) } else { "unknown size".into() };
        let (chunk, page) = (size(&self.chunk), size(&self.page));
        capitalised(&format!("{domains}, {sub_domains}; chunks of {chunk}, pages or mapping units of {page}"))
    }
}
