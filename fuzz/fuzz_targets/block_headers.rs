#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (flashlane_fuzzing::target("block_headers").body)(data));
