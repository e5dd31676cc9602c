use super::*;
use crate::config::load;

/// A buffer over `ssd-s` with these settings.
fn make(settings: &[(&str, &str)]) -> WriteBuffer {
    let settings: Vec<_> = settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let config = load("ssd-s", &settings).unwrap_or_else(|error| panic!("{error}"));
    WriteBuffer::new(&config, &Geometry::new(&config)).expect("it has one")
}

#[test]
fn rewriting_a_page_does_not_put_off_the_flush_that_waits_for_it() {
    let one_die =
        [("flash.channels", "1"), ("flash.packages", "1"), ("flash.dies", "1"), ("capacity", "1GiB")];
    let mut settings = one_die.to_vec();
    settings.extend([("buffer.policy", "lru"), ("buffer.size", "32KiB"), ("buffer.drain_per_die", "1")]);
    let mut buffer = make(&settings);
    (0..4).for_each(|page| assert_eq!(buffer.admit(page, u64::MAX, 0, || None), Admission::New));
    let period = buffer.begin_flush();
    for new in 4..12 {
        buffer.admit(0, u64::MAX, 0, || None);
        let (slot, _) = buffer.drain(true, Instant::ZERO).unwrap();
        buffer.drained(slot, Instant::ZERO);
        if buffer.is_flushed(period) {
            return;
        }
        buffer.admit(new, u64::MAX, 0, || None);
    }
    panic!("the flush still waits");
}
