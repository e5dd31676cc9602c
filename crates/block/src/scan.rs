//! Reads the headers and footers of units when the device is opened.

use crate::header::{Header, HeaderError};
use crate::layout::{Geometry, Layout, UnitAddress};
use flashlane_base::Instant;
use flashlane_device::{
    BlocksShape, Buffer, DataDevice, Failure, Request, RequestId, SubmitError, UnitHead, UnitKind,
};
use std::collections::{BTreeMap, VecDeque};

/// Reads in flight on a lane.
const READS_PER_LANE: u32 = 4;

/// What one end of a unit holds.
#[derive(Debug)]
pub(crate) enum HeaderRead {
    Valid(Header),
    /// Something else than a header.
    Foreign,
    /// A header of a later layout version.
    Newer(u32),
    /// A header whose checksum or a field is wrong; the shape in it where it is of a superblock, which is as wrong as
    /// the rest or that of a device with headers of another length.
    Damaged(Option<Geometry>),
    /// The device cannot read it.
    Unreadable,
}

impl HeaderRead {
    /// Returns the header if it is valid.
    pub(crate) fn header(&self) -> Option<&Header> {
        match self {
            Self::Valid(header) => Some(header),
            _ => None,
        }
    }
}

/// Reads what stands at `offset` of each of `units`. Whatever is no valid header is read twice: the fault may be one of
/// the transfer rather than of the medium.
///
/// # Errors
/// The device's message where it refuses a read or is lost.
pub(crate) fn read_headers<D: DataDevice>(
    device: &mut D,
    layout: &Layout,
    units: &[UnitAddress],
    offset: u64,
) -> Result<BTreeMap<UnitAddress, HeaderRead>, String> {
    let depth = device.info().depth.min(READS_PER_LANE * layout.lanes) as usize;
    let mut waiting: VecDeque<(UnitAddress, bool)> = units.iter().map(|&address| (address, false)).collect();
    let mut in_flight: BTreeMap<RequestId, (UnitAddress, bool)> = BTreeMap::new();
    let (mut next_request, mut completions) = (0, Vec::new());
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut found = BTreeMap::new();
    while !waiting.is_empty() || !in_flight.is_empty() {
        while in_flight.len() < depth
            && let Some((address, is_retry)) = waiting.pop_front()
        {
            let at = layout.unit_offset(address.unit) + offset;
            let request = Request::read(next_request, at, layout.header_bytes).on(address.device_lane());
            next_request += 1;
            let buffer = buffers.pop().unwrap_or_else(|| Buffer::zeroed(layout.header_bytes as usize));
            match device.submit_with(request, buffer) {
                Ok(()) => drop(in_flight.insert(request.id, (address, is_retry))),
                Err((SubmitError::Full { .. }, _)) if !in_flight.is_empty() => {
                    waiting.push_front((address, is_retry));
                    break;
                }
                Err((error, _)) => return Err(error.to_string()),
            }
        }
        device.reap(Instant::FAR, &mut completions);
        for completion in completions.drain(..) {
            let Some((address, is_retry)) = in_flight.remove(&completion.id) else { continue };
            let buffer = device.take_buffer(completion.id);
            let read = match completion.outcome {
                Err(Failure::DeviceLost) => return Err(Failure::DeviceLost.to_string()),
                Err(_) => HeaderRead::Unreadable,
                Ok(()) => decoded(buffer.as_ref().map_or(&[][..], Buffer::as_slice), layout),
            };
            buffers.extend(buffer);
            if read.header().is_none() && !is_retry {
                waiting.push_back((address, true));
            } else {
                found.insert(address, read);
            }
        }
    }
    assert_eq!(found.len(), units.len(), "every unit is read");
    Ok(found)
}

/// Returns the content of a unit; `None` where the device cannot read it.
///
/// # Errors
/// As [`read_headers`].
pub(crate) fn read_unit<D: DataDevice>(
    device: &mut D,
    layout: &Layout,
    address: UnitAddress,
) -> Result<Option<Buffer>, String> {
    let at = layout.unit_offset(address.unit);
    let request = Request::read(0, at, layout.unit_bytes).on(address.device_lane());
    let buffer = Buffer::zeroed(layout.unit_bytes as usize);
    device.submit_with(request, buffer).map_err(|(error, _)| error.to_string())?;
    let mut completions = Vec::new();
    loop {
        device.reap(Instant::FAR, &mut completions);
        let Some(completion) = completions.drain(..).find(|completion| completion.id == request.id) else {
            continue;
        };
        let buffer = device.take_buffer(request.id);
        return match completion.outcome {
            Err(Failure::DeviceLost) => Err(Failure::DeviceLost.to_string()),
            Err(_) => Ok(None),
            Ok(()) => Ok(buffer),
        };
    }
}

fn decoded(bytes: &[u8], layout: &Layout) -> HeaderRead {
    match Header::decode(bytes, layout) {
        Ok(header) => HeaderRead::Valid(header),
        Err(HeaderError::Foreign) => HeaderRead::Foreign,
        Err(HeaderError::Newer { found }) => HeaderRead::Newer(found),
        Err(_) => HeaderRead::Damaged(geometry_in_head(bytes)),
    }
}

/// Returns the shape in the head of a superblock, without a look at its checksum.
fn geometry_in_head(bytes: &[u8]) -> Option<Geometry> {
    let UnitKind::Superblock(shape) = UnitHead::decode(bytes)?.kind else { return None };
    let BlocksShape { lanes, units_per_lane, unit_bytes, read_unit_bytes } = shape;
    Some(Geometry { lanes, units: units_per_lane, unit_bytes, granule_bytes: read_unit_bytes })
}
