//! Settings that had another name: what to say of the old one.

/// The old name, and what to give in its place.
const RENAMED: &[(&str, &str)] = &[
    ("buffer.takes", "buffer.admit = \"all\" or \"partial-page-writes\""),
    ("buffer.overwrites", "buffer.coalesce"),
    ("buffer.parallel_pages", "buffer.batch_pages_per_package"),
    ("buffer.high", "buffer.high_watermark"),
    ("cleaning.lazy", "cleaning.defer = \"until-next-operation\""),
    ("cleaning.yields", "cleaning.defer = \"behind-host\""),
    ("flash.summary_pages", "compat.disksim.summary_pages"),
    ("flash.summary", "compat.disksim.summary"),
    ("link.completions_wait", "compat.disksim.completions_wait"),
    ("link.whole_reads", "compat.disksim.whole_reads"),
    ("mapping.pool", "compat.disksim.pool"),
    ("mapping.stripe", "mapping.translation_options.stripe"),
    ("mapping.interleave", "mapping.translation_options.interleave"),
    ("mapping.log_blocks", "mapping.translation_options.log_blocks"),
    ("mapping.sequence_blocks", "mapping.translation_options.sequence_blocks"),
    ("mapping.merge_batch", "mapping.translation_options.merge_batch"),
];

/// What to give in place of `field`, a full name or the last part of one, where it has another name now.
pub(super) fn hint(field: &str) -> Option<String> {
    let is_it = |old: &str| match field.contains('.') {
        true => old == field,
        false => old.rsplit('.').next() == Some(field),
    };
    RENAMED.iter().find(|(old, _)| is_it(old)).map(|(_, new)| format!("it has another name now: {new}"))
}
