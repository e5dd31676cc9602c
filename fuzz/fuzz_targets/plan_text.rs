#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (flashlane_fuzzing::target("plan_text").body)(data));
