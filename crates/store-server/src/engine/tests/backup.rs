//! BGSAVE, with files of backups in memory.

use super::*;

/// Files of backups in memory; those that were committed.
#[derive(Clone, Default)]
struct MemoryBackups(std::rc::Rc<std::cell::RefCell<Vec<Vec<u8>>>>);

struct MemoryBackup(Vec<u8>, MemoryBackups);

impl crate::BackupTarget for MemoryBackups {
    fn begin(&mut self) -> std::io::Result<Box<dyn crate::BackupFile>> {
        Ok(Box::new(MemoryBackup(Vec::new(), self.clone())))
    }
}

impl std::io::Write for MemoryBackup {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl crate::BackupFile for MemoryBackup {
    fn commit(self: Box<Self>) -> std::io::Result<()> {
        self.1.0.borrow_mut().push(self.0);
        Ok(())
    }
}

#[test]
fn backup_has_one_moment_while_clients_write() {
    let mut engine = engine_with(2, without_cache());
    let client = connect(&mut engine);
    let none = call(&mut engine, client, "BGSAVE");
    assert!(none.starts_with("-ERR no file for backups"), "{none}");
    let backups = MemoryBackups::default();
    engine.write_backups(Box::new(backups.clone()));
    let sets: Vec<String> = (0..3000).map(|nth| format!("SET key{nth} {}", "x".repeat(300))).collect();
    call(&mut engine, client, &sets.join("\n"));
    // An MSET over both slices, the backup, and more writes in one pipeline.
    let second = "\u{ff}second";
    let mset = format!("MSET first 1 {second} 1");
    let pipeline =
        format!("{mset}\nBGSAVE\nBGSAVE\nMSET first 2 {second} 2\nDEL key0 key2999\nMULTI\nBGSAVE\nEXEC");
    let replies = call(&mut engine, client, &pipeline);
    let expected = "+OK|+Background saving started|-ERR Background save already in progress|+OK|:2|+OK|\
                    -ERR BGSAVE inside MULTI is not supported|-EXECABORT Transaction discarded because of previous errors.";
    assert_eq!(replies, expected);
    while engine.server.backups.is_running {
        call(&mut engine, client, "SET key1 later\nGET key1");
    }
    expect(&mut engine, client, "LASTSAVE", ":1000");
    let files = backups.0.borrow();
    let entries = flashlane_store::BackupReader::open(&files[0][..]).expect("it is one");
    let found: BTreeMap<Vec<u8>, Vec<u8>> =
        entries.map(|entry| entry.expect("it is sound")).map(|entry| (entry.key, entry.value)).collect();
    assert_eq!((files.len(), found.len()), (1, 3002));
    assert_eq!((&found[&b"first"[..]][..], &found[second.as_bytes()][..]), (&b"1"[..], &b"1"[..]));
    assert!(found[&b"key1"[..]].len() == 300 && found.contains_key(&b"key0"[..]));
    let info = call(&mut engine, client, "INFO persistence");
    assert!(
        info.contains("rdb_bgsave_in_progress:0|rdb_last_save_time:1000|rdb_last_bgsave_status:ok"),
        "{info}"
    );
}
