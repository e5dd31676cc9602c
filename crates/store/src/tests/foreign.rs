//! Other data in the log's device is kept, and the store is read, until its owner gives it up.

use super::*;
use crate::LogOverwritten;

const PAGE_BYTES: usize = 4096;

/// Returns devices of a store with these pairs, after an orderly end or a power cut.
fn devices(pairs: u32, is_closed: bool) -> (MemoryLanes, MemoryDisk) {
    let mut store = create(4, 64, 1, 5);
    for nth in 0..pairs {
        let mut batch = Batch::default();
        batch.put(nth.to_be_bytes(), vec![nth as u8; 700]);
        write(&mut store, batch).expect("there is room");
    }
    if is_closed {
        store.close().unwrap();
    } else {
        let mut batch = Batch::default();
        batch.put("last", vec![1; 700]);
        store.write(batch, Durability::System).unwrap();
    }
    let (mut device, mut log) = (store.blocks().device().clone(), store.log_device().clone());
    cycle_power(&mut device);
    cycle_power(&mut log);
    (device, log)
}

#[test]
fn other_data_in_the_log_is_kept_until_it_is_given_up() {
    let text: Vec<u8> = b"my precious text\n".iter().copied().cycle().take(PAGE_BYTES).collect();
    let options = || StoreOptions { without_damaged_blocks: true, ..options() };
    let mut kept = 0;
    // A new store, one whose ring has blank pages, and one whose ring went round.
    for (pairs, is_closed) in [(0, true), (30, true), (30, false), (900, true), (900, false)] {
        let (device, log) = devices(pairs, is_closed);
        let pages = log.clone().bytes_mut().len() / PAGE_BYTES;
        // The first two pages are the header.
        for page in 2..pages {
            let (offset, mut log) = (page * PAGE_BYTES, log.clone());
            log.bytes_mut()[offset..offset + PAGE_BYTES].copy_from_slice(&text);
            let mut store = Store::open(device.clone(), log, options()).expect("it can be read");
            let context = format!("{pairs} pairs, page {page}: {:?}", store.status().log_overwritten);
            let found = LogOverwritten { offset_bytes: offset as u64, bytes: PAGE_BYTES as u64 };
            assert_eq!(store.status().log_overwritten, Some(found), "{context}");
            if store.loss().is_some() {
                // A page that the store needs.
                continue;
            }
            kept += 1;
            // Without an orderly end the last one may be what was overwritten.
            let first = get(&mut store, &[0; 4]);
            assert!(pairs == 0 || first == Some(vec![0; 700]), "{context}");
            let mut batch = Batch::default();
            batch.put("key", "value");
            let refused = store.write(batch.clone(), Durability::Memory).map(drop);
            assert!(matches!(refused, Err(WriteError::LogOverwritten { .. })), "{context}: {refused:?}");
            store.flush();
            store.close().unwrap();
            let (device, mut log) = store.into_devices();
            assert!(log.bytes_mut()[offset..offset + PAGE_BYTES] == text[..], "{context}");
            if page % 7 > 0 && page > 4 {
                continue;
            }
            let mut store = Store::open(device, log, options()).expect("it can be read");
            let damage = store.scrub();
            assert!(damage.log == Some(found) && damage.is_none_of_blocks(), "{context}");
            store.salvage(&damage).unwrap();
            write(&mut store, batch).unwrap_or_else(|error| panic!("{context}: {error}"));
            store.close().unwrap();
            let (device, log) = store.into_devices();
            let mut store = Store::open(device, log, options()).expect("it can be read");
            assert!(store.loss().is_none() && store.status().log_overwritten.is_none(), "{context}");
            assert_eq!(get(&mut store, b"key"), Some(b"value".to_vec()), "{context}");
        }
    }
    assert!(kept > 200, "{kept} pages");
}

#[test]
fn remains_of_earlier_stores_are_overwritten() {
    let (_, log) = devices(900, true);
    let device = MemoryLanes::new(4, 64, 8192, 512, Seed(9));
    let store = Store::create(device, log, 77, Slices::even(1), options()).unwrap();
    let (device, log) = store.into_devices();
    let mut store = Store::open(device, log, options()).unwrap();
    assert_eq!(store.status().log_overwritten, None);
    let mut batch = Batch::default();
    batch.put("key", "value");
    write(&mut store, batch).unwrap();
}
