//! The server on sockets: `cargo bench -p flashlane-store-server`, with `-- redis` or `-- idle` only one of both. As a
//! test (`cargo test --benches`) it runs small.

mod against_redis;
mod idle_clients;
mod running;

use std::path::Path;

/// The one of the command line.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    if let Some(dir) = std::env::var_os(running::SERVE) {
        return running::serve(Path::new(&dir));
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_given = |name: &str| arguments.iter().any(|argument| argument == name);
    let is_bench = is_given("--bench");
    let is_chosen = |name: &str| is_given(name) || !["redis", "idle"].iter().any(|other| is_given(other));
    if is_chosen("redis") {
        against_redis::run(is_bench);
    }
    if is_chosen("idle") {
        idle_clients::run(is_bench);
    }
}
