//! `flashlane man DIR`: a man page for each command.

use crate::failure::{Failure, Status};
use crate::output::make_directory;
use anyhow::anyhow;
use clap_mangen::Man;
use flashlane_files::{AtomicFile, Seen};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Write man pages into a directory
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Output directory, created if missing
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Replace files of the pages' names
    #[arg(long)]
    force: bool,
}

/// Writes a page for `program` and for each of its commands.
pub fn call(arguments: &Arguments, program: clap::Command) -> Result<Status, Failure> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    add_pages(&program, &mut pages);
    make_directory(&arguments.dir)?;
    let files: Vec<PathBuf> = pages.iter().map(|page| arguments.dir.join(page.get_filename())).collect();
    if let Some(taken) = files.iter().find(|file| !may_write(file, arguments.force)) {
        let hint = if taken.is_file() && !taken.is_symlink() { "; --force replaces it" } else { "" };
        return Err(Failure::unusable(anyhow!("'{}' exists already{hint}", taken.display())));
    }
    for (page, file) in pages.iter().zip(&files) {
        write(page, file)
            .map_err(|error| Failure::failed(anyhow!("cannot write '{}': {error}", file.display())))?;
    }
    Ok(Status::Done)
}

fn add_pages(command: &clap::Command, pages: &mut Vec<Man>) {
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        add_pages(command, pages);
    }
    pages.push(Man::new(command.clone()));
}

/// Returns whether nothing has the name of a page, or only a regular file that may be replaced.
fn may_write(file: &Path, force: bool) -> bool {
    file.symlink_metadata().map_or(true, |found| force && found.is_file())
}

/// Writes a page, in place of the regular file that is there.
fn write(page: &Man, path: &Path) -> io::Result<()> {
    let old = Seen::at(path);
    let mut text = Vec::new();
    page.render(&mut text)?;
    let mut file = AtomicFile::create(path)?;
    file.write_all(&text)?;
    match old {
        Some(old) => file.commit_over(|at| old.is_at(at)),
        None => file.commit_new(),
    }
}
