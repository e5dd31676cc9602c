//! Work on several cores, with results in the order of the items for any number of cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Applies `make` to each item, `jobs` at a time. Items begin in their order; where the system refuses threads, the
/// current one processes all.
pub fn in_parallel<T: Send, R: Send>(jobs: usize, items: Vec<T>, make: impl Fn(T) -> R + Sync) -> Vec<R> {
    // More threads than items would be idle.
    let jobs = jobs.min(items.len());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs);
    let Some(pool) = (jobs > 1).then(|| pool.build().ok()).flatten() else {
        return items.into_iter().map(make).collect();
    };
    let places: Vec<Mutex<(Option<T>, Option<R>)>> =
        items.into_iter().map(|item| Mutex::new((Some(item), None))).collect();
    let next = AtomicUsize::new(0);
    pool.broadcast(|_| {
        while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
            let lock = || place.lock().expect("no other thread has this place");
            let item = lock().0.take().expect("each item is taken once");
            let made = make(item);
            lock().1 = Some(made);
        }
    });
    let made = |place: Mutex<(Option<T>, Option<R>)>| {
        place.into_inner().expect("a thread that panics ends the others").1.expect("every item was made")
    };
    places.into_iter().map(made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_for_any_number_of_jobs() {
        let squares: Vec<u64> = (0..100).map(|item| item * item).collect();
        for jobs in [0, 1, 2, 7, 200] {
            assert_eq!(in_parallel(jobs, (0..100).collect(), |item: u64| item * item), squares, "{jobs}");
        }
        assert!(in_parallel(4, Vec::new(), |item: u64| item).is_empty());
    }
}
