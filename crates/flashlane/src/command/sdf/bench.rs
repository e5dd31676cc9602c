//! Puts and gets with so many in flight: bandwidth and latency of the block layer on a device.

use super::LoadOptions;
use super::device::format as format_device;
use super::status::described;
use crate::arguments::{OutputOptions, SafetyOptions};
use crate::device::real_path;
use crate::failure::{Failure, Status, tell};
use crate::output;
use crate::progress::Meter;
use anyhow::anyhow;
use flashlane_block::load::{self, Load, Side};
use flashlane_block::{Layout, Options, Placement};
use flashlane_device::spec::Spec;
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Blocks a lane that are put unless a number is given.
const BLOCKS_PER_LANE: u64 = 4;

pub fn call(
    spec: &Spec,
    given: &LoadOptions,
    output: &OutputOptions,
    safety: &SafetyOptions,
) -> Result<Status, Failure> {
    output::prepare_beside(output, spec)?;
    let placement: Placement = given.placement.into();
    let options = Options { placement, ..Options::default() };
    // Of a real device no formatting may be taken for an earlier one.
    let seed = real_path(spec).is_none().then_some(given.seed);
    let accept = |layout: &Layout| match given.get_bytes.filter(|&bytes| bytes > layout.block_bytes()) {
        Some(given) => Err(Failure::unusable(anyhow!(
            "--get-bytes {given} is more than a block has: {} bytes; nothing was touched",
            layout.block_bytes()
        ))),
        None => Ok(()),
    };
    let (mut blocks, warnings) = format_device(spec, safety, seed, options, &accept)?;
    let status = blocks.status();
    let lanes = status.layout.lanes;
    let puts = given.blocks.map_or(BLOCKS_PER_LANE * u64::from(lanes), |blocks| blocks.get().into());
    let in_flight = given.in_flight.map_or(lanes, |n| n.get());
    let filling = Load {
        wishes: puts.min(status.blocks_free),
        in_flight,
        puts: 1.0,
        random: given.random,
        get_bytes: given.get_bytes.unwrap_or(0),
        keep: None,
        // Bytes of simulated devices are kept in memory.
        zeros: real_path(spec).is_none(),
        seed: given.seed,
    };
    let reading = Load { wishes: given.gets.unwrap_or(puts), puts: 0.0, ..filling };
    let loads = [("puts", filling), ("gets", reading)];
    let meter = Meter::new(format!("measuring blocks on {spec}"));
    let mut partial = None;
    let mut phases = Vec::new();
    for (nth, (name, load)) in loads.into_iter().enumerate().filter(|(_, (_, load))| load.wishes > 0) {
        let mut watch = |share: f64| {
            meter.set(Some((nth as f64 + share) / 2.0));
            if flashlane_host::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let done = match load::run(&mut blocks, &load, &mut watch) {
            Ok(done) => done,
            Err(error) => {
                partial = Some(format!("the {name} ended early: {error}"));
                break;
            }
        };
        let side = if name == "puts" { &done.puts } else { &done.gets };
        phases.push(phase(name, &load, side, done.elapsed));
        if done.stopped {
            partial = Some("stopped".to_owned());
            break;
        }
    }
    drop(meter);
    let mut value = described(&blocks);
    value["schema"] = "flashlane.sdf_bench/1".into();
    value["seed"] = given.seed.0.into();
    value["in_flight"] = in_flight.into();
    value["placement"] = placement_name(placement).into();
    value["phases"] = phases.into();
    value["partial"] = partial.clone().into();
    let doubts = warnings.iter().map(|warning| serde_json::to_value(warning).map_err(Failure::failed));
    value["warnings"] = doubts.collect::<Result<Value, _>>()?;
    if let Some(fields) = value.as_object_mut() {
        // How each lane stands is a matter of status.
        fields.remove("lanes");
    }
    output::deliver(output, &output::value(&value, spec)?, None)?;
    Ok(match partial {
        None => Status::Done,
        Some(reason) => {
            tell(&format!("{reason}; the result is partial"));
            Status::Failed
        }
    })
}

fn placement_name(placement: Placement) -> &'static str {
    Placement::ALL.iter().find(|(_, known)| *known == placement).expect("all have a name").0
}

fn phase(name: &str, load: &Load, side: &Side, elapsed: flashlane_base::Duration) -> Value {
    json!({
        "operation": name,
        "requests": side.count,
        "request_bytes": side.bytes / side.count.max(1),
        "in_flight": load.in_flight,
        "elapsed_s": elapsed.as_s_f64(),
        "bandwidth_bytes_per_s": side.bytes_per_s(elapsed),
        "latency_ns": side.latency.latency(),
    })
}
