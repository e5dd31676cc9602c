#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (flashlane_fuzzing::target("profile_reader").body)(data));
