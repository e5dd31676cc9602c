//! Reads the SDT probes and the exported functions of a program from its ELF file.
//!
//! A probe is a note of the owner `stapsdt` and type 3: three addresses (the probe, the section `.stapsdt.base` when it
//! was linked, the semaphore) and three strings (provider, name, arguments). The kernel wants offsets in the file.

use super::error::PostgresError;
use object::read::elf::{ElfFile64, FileHeader, NoteIterator, ProgramHeader};
use object::{Architecture, LittleEndian, Object, ObjectSection, ObjectSymbol};
use std::path::Path;

const STAPSDT: u32 = 3;
/// Alignment of the notes.
const ALIGN: u64 = 4;

/// A site of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) name: String,
    /// Offset of its instruction in the file.
    pub(super) offset: u64,
    /// Offset of the counter that switches it on, where it has one.
    pub(super) semaphore: Option<u64>,
    /// Arguments in the syntax of the assembler.
    pub(super) arguments: Vec<String>,
}

/// The probes of a provider, and the exported functions of a program.
#[derive(Debug)]
pub(super) struct Symbols {
    probes: Vec<Probe>,
    functions: Vec<(String, u64)>,
}

impl Symbols {
    /// Reads the file at `path`.
    pub(super) fn read(path: &Path, provider: &str) -> Result<Self, PostgresError> {
        let bytes = std::fs::read(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => PostgresError::NoProgram { path: path.into() },
            _ => PostgresError::Program { path: path.into(), source },
        })?;
        Self::parse(&bytes, provider)
            .map_err(|problem| PostgresError::NotElf { path: path.into(), problem: problem.0 })
    }

    fn parse(bytes: &[u8], provider: &str) -> Result<Self, Problem> {
        let file = ElfFile64::<LittleEndian>::parse(bytes)?;
        if file.architecture() != Architecture::X86_64 {
            return Err(Problem(format!(
                "it is for {:?}, and arguments of probes are known for X86_64 only",
                file.architecture()
            )));
        }
        let segments = file.elf_header().program_headers(LittleEndian, bytes)?;
        let offset = |address: u64| {
            let holds = |segment: &&object::elf::ProgramHeader64<LittleEndian>| {
                let start = segment.p_vaddr(LittleEndian);
                segment.p_type(LittleEndian) == object::elf::PT_LOAD
                    && (start..start.saturating_add(segment.p_memsz(LittleEndian))).contains(&address)
            };
            let segment = segments.iter().find(holds)?;
            (address - segment.p_vaddr(LittleEndian)).checked_add(segment.p_offset(LittleEndian))
        };
        let base = file.section_by_name(".stapsdt.base").map(|section| section.address());
        let mut probes = Vec::new();
        if let Some(section) = file.section_by_name(".note.stapsdt") {
            let mut notes = NoteIterator::<object::elf::FileHeader64<LittleEndian>>::new(
                LittleEndian,
                ALIGN,
                section.data()?,
            )?;
            while let Some(note) = notes.next()? {
                if note.name() != b"stapsdt" || note.n_type(LittleEndian) != STAPSDT {
                    continue;
                }
                let Some(found) = described(note.desc()) else {
                    return Err(Problem("a note of a probe is cut short".into()));
                };
                if found.provider != provider {
                    continue;
                }
                // A program that was relinked keeps the addresses of its notes, and moves the section.
                let moved = base.map_or(0, |base| base.wrapping_sub(found.base));
                let place = |address: u64| offset(address.wrapping_add(moved));
                let outside = || Problem(format!("the probe '{}' lies outside its segments", found.name));
                let semaphore = match found.semaphore {
                    0 => None,
                    address => Some(place(address).ok_or_else(outside)?),
                };
                probes.push(Probe {
                    name: found.name.into(),
                    offset: place(found.at).ok_or_else(outside)?,
                    semaphore,
                    arguments: found.arguments.split_whitespace().map(str::to_owned).collect(),
                });
            }
        }
        let functions = file
            .dynamic_symbols()
            .filter(ObjectSymbol::is_definition)
            .filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), offset(symbol.address())?)));
        Ok(Self { probes, functions: functions.collect() })
    }

    /// Returns the sites of the probe `name`, in the order of the file.
    pub(super) fn probes(&self, name: &str) -> Vec<&Probe> {
        self.probes.iter().filter(|probe| probe.name == name).collect()
    }

    pub(super) fn has_probes(&self) -> bool {
        !self.probes.is_empty()
    }

    /// Returns the offset in the file of the exported function `name`.
    pub(super) fn function(&self, name: &str) -> Option<u64> {
        self.functions.iter().find(|(function, _)| function == name).map(|(_, offset)| *offset)
    }
}

/// Says why a file cannot be read.
#[derive(Debug)]
struct Problem(String);

impl From<object::Error> for Problem {
    fn from(error: object::Error) -> Self {
        Self(error.to_string())
    }
}

/// The content of a note.
struct Described<'a> {
    at: u64,
    base: u64,
    semaphore: u64,
    provider: &'a str,
    name: &'a str,
    arguments: &'a str,
}

fn described(content: &[u8]) -> Option<Described<'_>> {
    let (addresses, _) = content.as_chunks::<8>();
    let [at, base, semaphore] = *addresses.first_chunk::<3>()?;
    let mut texts = content[24..].split(|&byte| byte == 0).map(|text| std::str::from_utf8(text).ok());
    let mut text = || texts.next().flatten();
    Some(Described {
        at: u64::from_le_bytes(at),
        base: u64::from_le_bytes(base),
        semaphore: u64::from_le_bytes(semaphore),
        provider: text()?,
        name: text()?,
        arguments: text()?,
    })
}

#[cfg(test)]
#[path = "elf_tests.rs"]
mod tests;
