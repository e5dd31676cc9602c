//! The state of a store, also after its creation.

use super::CreateOptions;
use super::damage::{Unread, told};
use super::device::{Place, create as create_store, open, overwritten_log};
use crate::command::sdf::{Verdict, counted};
use crate::failure::{Failure, Status};
use crate::options::Format;
use crate::output::{json, print};
use crate::progress::Meter;
use flashlane_base::units::format_bytes;
use flashlane_device::Device;
use flashlane_open::{AnyKeyValueStore, Target};
use flashlane_report::csv_line;
use flashlane_store::space::plain_range;
use flashlane_store::text::escape;
use flashlane_store::{LogHeader, Loss, SliceStatus, Slices, Status as StoreStatus, StoreOptions};
use serde_json::{Value, json};

/// Creates a store and shows it.
pub fn create(
    place: &Place,
    slices: Slices,
    safety: &CreateOptions,
    format: Format,
) -> Result<Status, Failure> {
    let mut store = create_store(place, slices, StoreOptions::default(), safety)?;
    show(place, &mut store, None, format)
}

/// Shows a store.
pub fn stat(place: &Place, count: bool, format: Format) -> Result<Status, Failure> {
    let mut store = open(place)?;
    if !count {
        // The verdict names it.
        place.take_loss();
        return show(place, &mut store, None, format);
    }
    let mut unread = Unread::default();
    let Some(counts) = Counts::of(place, &mut store, &mut unread)? else {
        return Err(Failure::failed(anyhow::anyhow!("stopped; nothing was counted")));
    };
    show(place, &mut store, Some(counts), format)?;
    Ok(unread.report(place))
}

/// Keys and bytes of a store, counted.
struct Counts {
    keys: u64,
    key_bytes: u64,
    value_bytes: u64,
}

impl Counts {
    /// Counts by reading all keys, but for those that are `unread`; `None` after Ctrl-C.
    fn of(place: &Place, store: &mut AnyKeyValueStore, unread: &mut Unread) -> Result<Option<Self>, Failure> {
        let _meter = Meter::new(format!("counting the keys of {}", place.device));
        let mut counts = Self { keys: 0, key_bytes: 0, value_bytes: 0 };
        let mut next = Some(Vec::new());
        while let Some(start) = next.take() {
            let range = plain_range(&start, None);
            for item in store.entries(&range.start, range.end.as_deref(), false) {
                let Some(item) = unread.without(item)? else { continue };
                counts.keys += 1;
                counts.key_bytes += item.key.len() as u64;
                counts.value_bytes += item.value_bytes;
                if flashlane_host::interrupted() {
                    return Ok(None);
                }
            }
            next = range.next;
        }
        Ok(Some(counts))
    }
}

fn show(
    place: &Place,
    store: &mut AnyKeyValueStore,
    counts: Option<Counts>,
    format: Format,
) -> Result<Status, Failure> {
    let status = store.status();
    // The verdict of the blocks has damaged units.
    let is_of_store =
        |loss: &&Loss| !loss.blocks.is_empty() || loss.missing.is_some() || loss.stated.is_some();
    let lost_keys = status.loss.as_ref().filter(is_of_store).map(|loss| told(place, loss));
    let store = store.store();
    let blocks = store.blocks();
    let mut verdict = Verdict::of_store(&place.device, place.named(), blocks);
    let overwritten = status.log_overwritten.map(|found| overwritten_log(place, found));
    let of_store = [damaged_header(status.log_header, &place.log), overwritten, lost_keys];
    of_store.into_iter().flatten().for_each(|finding| verdict.add(finding));
    let log_bytes = store.log_device().info().capacity_bytes;
    let facts = facts(&status, counts.as_ref(), blocks.block_bytes(), log_bytes);
    let text = match format {
        Format::Text => text(&status, &verdict, &facts),
        Format::Csv => facts.iter().fold(csv_line(["name", "value"]), |text, (name, _, value, _)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text + &csv_line([*name, value.as_str()])
        }),
        Format::Json => {
            let slices: Vec<Value> = status.slices.iter().map(slice_row).collect();
            let mut fields = json!({
                "schema": "flashlane.store/1",
                "verdict": verdict.text,
                "sound": verdict.is_sound,
                "device": place.device.to_string(),
                "log": place.log.to_string(),
                "slices": slices,
            });
            let object = fields.as_object_mut().expect("it is an object");
            object.extend(facts.into_iter().map(|(name, _, value, _)| (name.to_owned(), value)));
            json(&fields)
        }
    };
    print(&text)?;
    Ok(Status::Done)
}

/// Field, label and value of a fact, the value for results and for people.
type Fact = (&'static str, &'static str, Value, String);

fn facts(status: &StoreStatus, counts: Option<&Counts>, block_bytes: u64, log_bytes: u64) -> Vec<Fact> {
    let sum = |of: fn(&SliceStatus) -> u64| status.slices.iter().map(of).sum::<u64>();
    let levels = status.slices.iter().map(|slice| slice.patches.len()).max().unwrap_or(0);
    let of_level =
        |level: usize| status.slices.iter().filter_map(|slice| slice.patches.get(level)).sum::<u64>();
    let patches: Vec<u64> = (0..levels).map(of_level).collect();
    let mut facts: Vec<Fact> = Vec::new();
    let mut count = |name: &'static str, label: &'static str, value: u64| {
        facts.push((name, label, value.into(), value.to_string()))
    };
    if let Some(counts) = counts {
        count("keys", "Keys", counts.keys);
        count("key_bytes", "Bytes of keys", counts.key_bytes);
        count("value_bytes", "Bytes of values", counts.value_bytes);
    }
    count("writes", "Writes so far", status.last_sequence);
    count("entries", "Entries in patches", sum(|slice| slice.entries));
    count("tombstones", "Of these, deletes", sum(|slice| slice.tombstones));
    let mut bytes = |name: &'static str, label: &'static str, value: u64| {
        facts.push((name, label, value.into(), format_bytes(value)));
    };
    bytes("entry_bytes", "Bytes in patches", sum(|slice| slice.entry_bytes));
    bytes("container_bytes", "Bytes in the log only", sum(|slice| slice.container_bytes));
    bytes("room_bytes", "Room for values", status.room_bytes);
    bytes("free_bytes", "Free, with the reserve for merging", status.blocks_free * block_bytes);
    bytes("index_memory_bytes", "Memory of indexes and filters", status.index_memory_bytes);
    bytes("container_memory_bytes", "Memory of containers", status.container_memory_bytes);
    bytes("block_bytes", "Block", block_bytes);
    bytes("log_bytes", "Log", log_bytes);
    let list = patches.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let list = if list.is_empty() { "none".to_owned() } else { list };
    facts.push(("patches", "Patches by level, from 0", patches.into(), list));
    facts.push(("blocks_free", "Blocks free", status.blocks_free.into(), status.blocks_free.to_string()));
    let log_used = format!("{:.0}%", 100.0 * status.log_used);
    facts.push(("log_used", "Log in use", status.log_used.into(), log_used));
    let id = format!("{:032x}", status.store);
    facts.push(("store", "Store", id.clone().into(), id));
    facts
}

/// Judges the copies of the log's header.
fn damaged_header(header: LogHeader, log: &Target) -> Option<String> {
    Some(match header {
        LogHeader::Sound => return None,
        LogHeader::Damaged => format!(
            "one copy of the header of the log '{log}' is damaged, and the other is used; the next put or rm rewrites it"
        ),
        LogHeader::Overwritten => format!(
            "other data is in the place of one copy of the header of the log '{log}', and stays there; the other is used: move \
             what the store holds to a new one, by 'flashlane store backup' and 'flashlane store import'"
        ),
    })
}

fn text(status: &StoreStatus, verdict: &Verdict, facts: &[Fact]) -> String {
    let lines = facts.iter().map(|(_, label, _, value)| format!("{label:<36}{value}\n"));
    let slices = status.slices.iter().map(|slice| {
        let patches: u64 = slice.patches.iter().sum();
        let merging = if slice.is_merging { ", merging" } else { "" };
        let first = format!("Slice from '{}'", escape(&slice.lower));
        format!("{first:<36}{}, {} entries{merging}\n", counted(patches, "patch", "patches"), slice.entries)
    });
    format!("Verdict: {}\n{}{}", verdict.text, lines.collect::<String>(), slices.collect::<String>())
}

fn slice_row(slice: &SliceStatus) -> Value {
    json!({
        "first_key": escape(&slice.lower),
        "patches": slice.patches,
        "entries": slice.entries,
        "tombstones": slice.tombstones,
        "entry_bytes": slice.entry_bytes,
        "container_bytes": slice.container_bytes,
    })
}
