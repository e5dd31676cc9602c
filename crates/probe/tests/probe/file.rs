//! A file shows no flash structure, on any drive below.

use crate::options;
use flashlane_host::{OpenOptions, PageCache};
use flashlane_probe::{Effort, Feature, Options, Status, probe};

#[test]
fn file_shows_no_structure() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![0x5a; 64 << 20]).unwrap();
    for may_write in [true, false] {
        let open = if may_write { OpenOptions::read_write(&path) } else { OpenOptions::read_only(&path) };
        let mut device = OpenOptions { depth: 64, page_cache: PageCache::Tolerate, ..open }.open().unwrap();
        let options = Options { may_write, structure_only: true, ..options(Effort::Quick, 1) };
        let result = probe(&mut device, options).unwrap();
        assert_eq!(result.partial, None);
        for feature in
            [Feature::ChunkSize, Feature::InterleavingDegree, Feature::SubDomains, Feature::MappingPolicy]
        {
            let finding = result.finding(feature).unwrap();
            assert_eq!(finding.status, Status::NotDetermined, "{feature}: {finding:?}");
        }
    }
}
