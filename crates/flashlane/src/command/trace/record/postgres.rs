//! `flashlane trace record --postgres`: records the page accesses of a running PostgreSQL by transaction.

use super::layout::{Layout, TooLarge};
use super::{Arguments, early_end, folder, until};
use crate::command::trace::out;
use crate::failure::{Failure, Status, notify};
use anyhow::anyhow;
use flashlane_base::units::format_bytes;
use flashlane_base::{Duration, Instant};
use flashlane_host::{
    Database, PageCounts, PageTransaction, PagesRecorded, PostgresError, PostgresRecorder, RecordError,
    Relation,
};
use flashlane_trace::{Output, WriteError, output_name};
use flashlane_transactions::recording::{ACCESSES_MOST, ENDING, Writer};
use flashlane_transactions::{Header, LeftOut, Transaction, recording};
use std::path::Path;

pub(super) fn call(arguments: &Arguments, program: &Path) -> Result<Status, Failure> {
    let Arguments { out, force, .. } = arguments;
    if let Some(name) = &arguments.to {
        return Err(Failure::unusable(anyhow!(
            "--to {name}: page accesses of transactions are written as '{ENDING}' only"
        )));
    }
    check_ending(out)?;
    let file = out::create(out, *force)?;
    let recorder = PostgresRecorder::find(program).map_err(failure)?;
    let name = arguments.database.as_deref().unwrap_or_default();
    let database = recorder.database(name).map_err(failure)?;
    let before = database.relations().map_err(failure)?;
    let reads_before = database.settled_blocks_read(0).map_err(failure)?;
    let until = until(arguments, &format!("database {name}"));
    let recorded = recorder.record(&database, &until, folder(out)).map_err(failure)?;
    let reads = recorded.counts.reads;
    let counted =
        database.settled_blocks_read(reads_before + reads).map_err(failure)?.saturating_sub(reads_before);
    let after = database.relations().map_err(failure)?;
    let (ended, lost_events) = (recorded.ended, recorded.lost_events);
    let counts = recorded.counts.clone();
    let log = arguments.check_log.then(|| log_check(&database, &recorded));
    if counts.committed == 0 {
        return Err(Failure::failed(anyhow!(
            "nothing was recorded: no transaction with a page of database {name} was committed{}",
            if counts.reads > 0 { ", though its pages were read" } else { "" }
        )));
    }
    if !recorded.has_cpu_time {
        notify("this kernel has no events of the scheduler: waiting counts as processor time");
    }
    let took = recorded.took;
    let source = source(&database, &recorded, counted, log.as_deref());
    let written = write(recorded, &database, [&before, &after], source, file, out)?;
    if let Some(summary) = &written {
        out::print_summary(out, &format!("{summary}, in {took}"))?;
    }
    if let Some(log) = log {
        notify(&log);
    }
    for doubt in doubts(&counts, counted, lost_events) {
        notify(&doubt);
    }
    let Some(cut) = early_end(ended, &until) else { return Ok(Status::Done) };
    notify(&match written {
        Some(_) => format!("{cut}; the transactions recorded until then are written"),
        None => cut,
    });
    Ok(Status::Failed)
}

/// Refuses names that say another format, since there is one only.
fn check_ending(out: &Path) -> Result<(), Failure> {
    if recording::is_named(out) || flashlane_trace::is_standard_output(out) {
        return Ok(());
    }
    Err(Failure::unusable(anyhow!(
        "'{}' is not the name of a recording of transactions: it must end in .{ENDING}, .{ENDING}.xz, .{ENDING}.zst or \
         .{ENDING}.gz",
        out.display()
    )))
}

fn failure(error: PostgresError) -> Failure {
    match error {
        PostgresError::NoProgram { .. }
        | PostgresError::NotElf { .. }
        | PostgresError::NoProbes { .. }
        | PostgresError::NoFunction { .. }
        | PostgresError::Unsupported { .. }
        | PostgresError::Tracing(RecordError::Command { .. }) => Failure::unusable(error),
        error => Failure::failed(error),
    }
}

/// Returns the facts that a user of the recording should know.
fn doubts(counts: &PageCounts, counted: u64, lost_events: u64) -> Vec<String> {
    let mut doubts = Vec::new();
    if counts.reads != counted {
        doubts.push(format!(
            "{} page reads were recorded, and the server counts {counted} for this time (blks_hit + blks_read of \
             pg_stat_database): sessions that were open when it began or ended count at other times",
            counts.reads
        ));
    }
    if counts.aborted > 0 {
        doubts.push(format!("{} transactions were rolled back and are left out", counts.aborted));
    }
    if counts.dirty_unknown > 0 {
        doubts.push(format!(
            "{} times a page was changed that was not read since the recording began; these writes are left out",
            counts.dirty_unknown
        ));
    }
    if lost_events > 0 || counts.losses > 0 {
        doubts.push(format!(
            "{lost_events} events were lost: the processors were too busy to fetch them in time; {} transactions were \
             open then and are left out, and others may lack accesses",
            counts.incomplete
        ));
    }
    doubts
}

/// Writes the recording; returns its summary, or `None` if the output pipe is closed.
fn write(
    recorded: PagesRecorded,
    database: &Database,
    [before, after]: [&[Relation]; 2],
    source: String,
    file: Output,
    out: &Path,
) -> Result<Option<String>, Failure> {
    let PagesRecorded { transactions, counts, .. } = recorded;
    let layout = Layout::new(before, after, transactions.forks()).map_err(|TooLarge(pages)| {
        Failure::failed(anyhow!("the database has {pages} pages, more than a recording can number"))
    })?;
    // Transactions without a name are of a kind of their own.
    let mut kinds = counts.kinds.clone();
    let unnamed = kinds.len() as u16;
    kinds.push(if kinds.is_empty() { "transaction" } else { "other" }.into());
    let header = Header {
        page_bytes: database.page_bytes,
        pages: layout.pages,
        clients: transactions.clients().clamp(1, u16::MAX.into()) as u16,
        source,
        kinds,
        relations: layout.relations.clone(),
    };
    let bytes = format_bytes(header.bytes());
    let failed = |error: recording::WriteError| match error {
        recording::WriteError::Io(source) => WriteError::File { name: output_name(out), source },
        error => WriteError::File { name: output_name(out), source: std::io::Error::other(error) },
    };
    let mut too_long = 0;
    let write = || {
        let mut writer = Writer::new(file, header).map_err(failed)?;
        too_long = push_all(&mut writer, transactions, unnamed, &layout).map_err(failed)?;
        let left_out = LeftOut { aborted: counts.aborted, cut: counts.incomplete + too_long };
        let (file, totals) = writer.finish(left_out).map_err(failed)?;
        out::close(file, out)?;
        Ok(totals)
    };
    let Some(totals) = out::ignore_closed_pipe(write())? else { return Ok(None) };
    if too_long > 0 {
        notify(&format!(
            "{too_long} transactions have more than {ACCESSES_MOST} page accesses and are left out"
        ));
    }
    Ok(Some(format!(
        "{} transactions with {} page accesses ({} writes) of {} pages, {bytes}",
        totals.transactions, totals.accesses, counts.writes, layout.pages
    )))
}

/// Writes the transactions, those without a name with the kind `unnamed`. Returns the number of those left out, since
/// they have more accesses than a recording may.
fn push_all(
    writer: &mut Writer<Output>,
    transactions: impl Iterator<Item = std::io::Result<PageTransaction>>,
    unnamed: u16,
    layout: &Layout,
) -> Result<u64, recording::WriteError> {
    let mut too_long = 0;
    let mut next = Transaction::default();
    for transaction in transactions {
        let transaction = transaction?;
        if transaction.accesses.len() > ACCESSES_MOST {
            too_long += 1;
            continue;
        }
        // Numbers of sessions come again where there were more than a recording has.
        next.session = transaction.session as u16;
        next.kind = transaction.kind.unwrap_or(unnamed);
        next.start = Instant::from_ns(transaction.started_ns);
        next.cpu = Duration::from_ns(transaction.cpu_ns);
        next.accesses.clear();
        next.accesses.extend(transaction.accesses.iter().map(|access| layout.place(access)));
        writer.push(&next)?;
    }
    Ok(too_long)
}

/// Compares the pages in the server's log with those that were seen to change.
fn log_check(database: &Database, recorded: &PagesRecorded) -> String {
    match database.changed_pages(&recorded.log) {
        Ok(changed) => match changed.difference(&recorded.dirtied).count() {
            0 => format!(
                "all {} pages that the server's log says were changed were recorded as such",
                changed.len()
            ),
            missing => {
                let all = changed.len();
                format!(
                    "of {all} pages that the server's log says were changed, {missing} were not recorded as such"
                )
            }
        },
        Err(error) => format!("the server's log was not compared: {error}"),
    }
}

/// Describes where a recording is from, and how it was checked.
fn source(database: &Database, recorded: &PagesRecorded, counted: u64, log: Option<&str>) -> String {
    let reads = recorded.counts.reads;
    let mut source = format!("PostgreSQL {}, recorded by uprobe events", database.version);
    source += &if reads == counted {
        format!("; all {counted} page reads that the server counted were recorded")
    } else {
        format!("; {reads} page reads were recorded where the server counted {counted}")
    };
    for text in log.into_iter().chain((!recorded.has_cpu_time).then_some("processor times include waiting")) {
        source += &format!("; {text}");
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubts_name_what_is_left_out() {
        let sound = PageCounts { reads: 10, ..PageCounts::default() };
        assert_eq!(doubts(&sound, 10, 0), [""; 0]);
        let all = PageCounts { reads: 10, aborted: 2, incomplete: 3, dirty_unknown: 4, ..sound };
        let texts = doubts(&all, 11, 5).join("\n");
        for part in
            ["10 page reads", "counts 11", "2 transactions were rolled", "4 times", "5 events", "3 tr"]
        {
            assert!(texts.contains(part), "{part}: {texts}");
        }
    }
}
