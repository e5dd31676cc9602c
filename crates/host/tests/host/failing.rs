//! Devices that fail under a run: every request completes exactly once, with a reason.

use crate::files::{ENGINES, drain, open, scratch};
use flashlane_device::{Buffer, DataDevice, Device, Failure, Request, RequestId};
use flashlane_host::OpenOptions;
use std::collections::BTreeSet;
use std::fs::OpenOptions as Files;

#[test]
fn a_file_cut_short_under_us_gives_short_reads() {
    for engine in ENGINES {
        let file = scratch(1 << 20);
        let mut device = open(&OpenOptions { engine, ..OpenOptions::read_only(file.path()) });
        let plain = Files::new().write(true).open(file.path()).unwrap();
        plain.set_len((512 << 10) + 4096).unwrap();
        for id in 0..32 {
            device.submit_with(Request::read(id, id * 32_768, 32_768), Buffer::zeroed(32_768)).unwrap();
        }
        let done = drain(&mut device, 32);
        let ids: BTreeSet<RequestId> = done.iter().map(|c| c.id).collect();
        assert_eq!(ids.len(), 32);
        for completion in done {
            let expected = match completion.id.0 {
                0..16 => Ok(()),
                16 => Err(Failure::Short { done_bytes: 4096 }),
                _ => Err(Failure::Short { done_bytes: 0 }),
            };
            assert_eq!(completion.outcome, expected, "{:?}", completion.id);
            assert!(device.take_buffer(completion.id).is_some(), "buffers come back even then");
        }
        // It is still there, if shorter.
        device.submit(Request::read(99, 0, 4096)).unwrap();
        assert_eq!(drain(&mut device, 1)[0].outcome, Ok(()));
    }
}
