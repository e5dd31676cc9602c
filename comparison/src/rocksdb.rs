//! RocksDB by its C interface (`rocksdb/c.h`).

use crate::engine::{Durability, Settings, Waiting};
use crate::workload::Workload;
use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::path::Path;
use std::ptr;

#[rustfmt::skip]
unsafe extern "C" {
    fn rocksdb_options_create() -> *mut c_void;
    fn rocksdb_get_options_from_string(base: *const c_void, text: *const c_char, new: *mut c_void, error: *mut *mut c_char);
    fn rocksdb_open(options: *const c_void, path: *const c_char, error: *mut *mut c_char) -> *mut c_void;
    fn rocksdb_close(database: *mut c_void);
    fn rocksdb_writeoptions_create() -> *mut c_void;
    fn rocksdb_writeoptions_set_sync(options: *mut c_void, is_synced: c_uchar);
    fn rocksdb_readoptions_create() -> *mut c_void;
    fn rocksdb_put(database: *mut c_void, options: *const c_void, key: *const u8, key_bytes: usize, value: *const u8, value_bytes: usize, error: *mut *mut c_char);
    fn rocksdb_get_pinned(database: *mut c_void, options: *const c_void, key: *const u8, key_bytes: usize, error: *mut *mut c_char) -> *mut c_void;
    fn rocksdb_pinnableslice_value(slice: *const c_void, bytes: *mut usize) -> *const u8;
    fn rocksdb_pinnableslice_destroy(slice: *mut c_void);
    fn rocksdb_create_iterator(database: *mut c_void, options: *const c_void) -> *mut c_void;
    fn rocksdb_iter_seek(iterator: *mut c_void, key: *const u8, key_bytes: usize);
    fn rocksdb_iter_valid(iterator: *const c_void) -> c_uchar;
    fn rocksdb_iter_next(iterator: *mut c_void);
    fn rocksdb_iter_value(iterator: *const c_void, bytes: *mut usize) -> *const u8;
    fn rocksdb_iter_destroy(iterator: *mut c_void);
    fn rocksdb_property_int(database: *mut c_void, name: *const c_char, value: *mut u64) -> c_int;
}

/// What the store does in the background as long as one of these is not zero.
const WORK: [&CStr; 4] = [
    c"rocksdb.mem-table-flush-pending",
    c"rocksdb.num-running-flushes",
    c"rocksdb.compaction-pending",
    c"rocksdb.num-running-compactions",
];

pub struct RocksDb {
    database: *mut c_void,
    write: *mut c_void,
    read: *mut c_void,
}

// SAFETY: a database of RocksDB may be used by several threads, and its options are only read.
unsafe impl Sync for RocksDb {}

/// Reads and background work go through the page cache or bypass it, as those of this project's store do; and what
/// RocksDB's tuning guide says of point lookups: a filter of 10 bits a key, and blob files for large values.
fn options(workload: &Workload, settings: &Settings) -> String {
    let half = settings.memory_bytes / 2;
    let mut options = format!(
        "create_if_missing=true;compression=kNoCompression;max_background_jobs=2;use_direct_reads={};\
         use_direct_io_for_flush_and_compaction=true;write_buffer_size={};db_write_buffer_size={half};\
         compaction_readahead_size=2097152;level_compaction_dynamic_level_bytes=true;\
         block_based_table_factory={{block_cache={half};filter_policy=bloomfilter:10:false}}",
        settings.direct_reads,
        half / 2
    );
    if workload.value_bytes >= settings.separate_from_bytes {
        options += ";enable_blob_files=true;min_blob_size=1024;enable_blob_garbage_collection=true";
    }
    options
}

pub fn open(dir: &Path, workload: &Workload, settings: &Settings) -> RocksDb {
    let text = CString::new(options(workload, settings)).expect("options have no zero byte");
    let path = CString::new(dir.join("rocksdb").display().to_string()).expect("a path has no zero byte");
    let mut error = ptr::null_mut();
    // SAFETY: the pointers are those that the library returned, and strings end with a zero byte. Options live as long
    // as the process.
    unsafe {
        let (base, options) = (rocksdb_options_create(), rocksdb_options_create());
        rocksdb_get_options_from_string(base, text.as_ptr(), options, &mut error);
        check(error);
        let database = rocksdb_open(options, path.as_ptr(), &mut error);
        check(error);
        let (write, read) = (rocksdb_writeoptions_create(), rocksdb_readoptions_create());
        rocksdb_writeoptions_set_sync(write, (settings.durability == Durability::Device).into());
        RocksDb { database, write, read }
    }
}

/// Panics with the library's message if there is one.
fn check(error: *mut c_char) {
    if !error.is_null() {
        // SAFETY: the library's messages end with a zero byte.
        panic!("RocksDB: {}", unsafe { CStr::from_ptr(error) }.to_string_lossy());
    }
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: nothing uses the database any more.
        unsafe { rocksdb_close(self.database) }
    }
}

// SAFETY of all calls below: the database is open, keys and values are valid for the length given, and what the library
// returns is used before it is given back.
impl Waiting for RocksDb {
    fn put(&self, key: &[u8], value: &[u8]) {
        let mut error = ptr::null_mut();
        let (key, value) = ((key.as_ptr(), key.len()), (value.as_ptr(), value.len()));
        unsafe { rocksdb_put(self.database, self.write, key.0, key.1, value.0, value.1, &mut error) }
        check(error);
    }

    fn get(&self, key: &[u8], is_right: impl FnOnce(&[u8])) -> bool {
        let mut error = ptr::null_mut();
        let slice =
            unsafe { rocksdb_get_pinned(self.database, self.read, key.as_ptr(), key.len(), &mut error) };
        check(error);
        if slice.is_null() {
            return false;
        }
        let mut bytes = 0;
        unsafe {
            let value = rocksdb_pinnableslice_value(slice, &mut bytes);
            is_right(std::slice::from_raw_parts(value, bytes));
            rocksdb_pinnableslice_destroy(slice);
        }
        true
    }

    fn scan(&self, key: &[u8], entries: usize) -> usize {
        let (mut found, mut bytes) = (0, 0);
        unsafe {
            let iterator = rocksdb_create_iterator(self.database, self.read);
            rocksdb_iter_seek(iterator, key.as_ptr(), key.len());
            while found < entries && rocksdb_iter_valid(iterator) != 0 {
                rocksdb_iter_value(iterator, &mut bytes);
                found += 1;
                rocksdb_iter_next(iterator);
            }
            rocksdb_iter_destroy(iterator);
        }
        found
    }

    fn is_working(&self) -> bool {
        WORK.iter().any(|name| {
            let mut value = 0;
            unsafe { rocksdb_property_int(self.database, name.as_ptr(), &mut value) == 0 && value > 0 }
        })
    }
}
