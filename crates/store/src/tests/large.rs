//! Values that are large beside the memory of the store.

use super::*;

/// Puts values into a store with one slice as a batch, and reads them.
fn put_and_get(store: &mut TestStore, lengths: &[u64]) {
    let value =
        |nth: usize| -> Vec<u8> { (0..lengths[nth]).map(|at| ((at * 7) >> 5) as u8 ^ nth as u8).collect() };
    let mut batch = Batch::default();
    for nth in 0..lengths.len() {
        batch.put([nth as u8], value(nth));
    }
    write(store, batch).unwrap_or_else(|error| panic!("values of {lengths:?} bytes: {error}"));
    for nth in 0..lengths.len() {
        assert!(get(store, &[nth as u8]) == Some(value(nth)), "value {nth} of {lengths:?} bytes");
    }
}

#[test]
fn value_may_be_larger_than_the_memory() {
    let memory_bytes = options().memory_bytes;
    let sizes = [memory_bytes / 2, memory_bytes, 3 * memory_bytes].into_iter();
    for length in sizes.flat_map(|bytes| [bytes - 1, bytes, bytes + 1]) {
        let mut store = create(4, 200, 1, 7);
        put_and_get(&mut store, &[length]);
        // Containers that are not empty, and other writes that wait.
        let mut batch = Batch::default();
        (0..10_u8).for_each(|nth| _ = batch.put([9, nth], vec![nth; 300]));
        let small = store.write(batch, Durability::Memory).expect("there is room");
        put_and_get(&mut store, &[length]);
        assert!(store.wait(small).is_some());
    }
}

#[test]
fn batch_may_be_larger_than_the_memory() {
    let memory_bytes = options().memory_bytes;
    let mut store = create(4, 400, 1, 7);
    put_and_get(&mut store, &[memory_bytes / 2, 10, memory_bytes / 2 + 1]);
    put_and_get(&mut store, &[memory_bytes, 10, memory_bytes + 1]);
    put_and_get(&mut store, &[5_000; 60]);
}

#[test]
fn value_without_room_is_refused_before_anything_is_written() {
    let mut store = create(4, 16, 1, 7);
    store.settle();
    let (free, written) = (store.status().blocks_free, store.status().counters);
    let mut batch = Batch::default();
    batch.put("key", vec![1; 1 << 20]);
    let refused = write(&mut store, batch);
    assert!(matches!(refused, Err(WriteError::Full { .. })), "{refused:?}");
    assert_eq!((store.status().blocks_free, store.status().counters), (free, written));
    // Its pieces have more ids than a block holds.
    let mut batch = Batch::default();
    batch.put("key", vec![1; 10 << 20]);
    let refused = write(&mut store, batch);
    assert!(matches!(refused, Err(WriteError::BatchTooLarge { .. })), "{refused:?}");
}
