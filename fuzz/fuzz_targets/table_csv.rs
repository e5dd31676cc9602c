#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (flashlane_fuzzing::target("table_csv").body)(data));
