//! Links RocksDB where the system has it (Debian: librocksdb-dev); without it the comparison has two stores.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rocksdb)");
    println!("cargo::rerun-if-changed=build.rs");
    if pkg_config::Config::new().atleast_version("7").probe("rocksdb").is_ok() {
        println!("cargo::rustc-cfg=rocksdb");
    }
}
