#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (flashlane_fuzzing::target("store_pairs").body)(data));
