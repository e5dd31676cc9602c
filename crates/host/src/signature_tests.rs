use super::*;

fn look(image: &[u8]) -> Vec<Signature> {
    look_behind(image, &[])
}

fn look_behind(image: &[u8], data_starts: &[u64]) -> Vec<Signature> {
    find(image.len() as u64, data_starts, |at, buffer| {
        let at = at as usize;
        let count = buffer.len().min(image.len().saturating_sub(at)).min(10_000);
        buffer[..count].copy_from_slice(&image[at..at + count]);
        Ok(count)
    })
    .unwrap()
}

fn image_with(length: usize, marks: &[(u64, &[u8])]) -> Vec<u8> {
    let mut image = vec![0; length];
    for &(at, bytes) in marks {
        image[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    }
    image
}

#[test]
fn every_fixed_magic_number_is_found() {
    for mark in MARKS {
        let found = look(&image_with(2 << 20, &[(mark.offset_bytes, mark.bytes)]));
        assert!(
            found.iter().any(|s| s.what == mark.what && s.offset_bytes == mark.offset_bytes),
            "{}",
            mark.what
        );
    }
}

#[test]
fn every_computed_signature_is_found() {
    const LENGTH: usize = (3 << 20) + 12_800;
    let entry = |kind: u8| [0x80, 0, 0, 0, kind, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0];
    let raid = 0xa92b_4efc_u32.to_le_bytes();
    let last = LENGTH as u64;
    let ring = [0x00ba_b10c_u64.to_le_bytes(), 5000_u64.to_le_bytes()].concat();
    let ring_big_endian = [0x00ba_b10c_u64.to_be_bytes(), 28_u64.to_be_bytes()].concat();
    // The sum of a name of eight letters, and of the checksum's field as spaces.
    let tar_name = [b'a'; 8];
    let tar_sum = format!("{:06o}\0 ", 8 * u32::from(b'a') + 8 * u32::from(b' '));
    let header = b"FLBLOCKS\x01\0\0\0\x02\0\0\0".as_slice();
    for (what, marks) in [
        ("swap space", vec![(4086, b"SWAPSPACE2".as_slice())]),
        ("swap space", vec![(65_526, b"SWAPSPACE2")]),
        ("LVM physical volume", vec![(512, b"LABELONE")]),
        ("Linux RAID member", vec![(((last / 512 - 16) & !7) * 512, &raid)]),
        ("Linux RAID member", vec![((last & !0xffff) - 65_536, &raid)]),
        ("VHD disk image", vec![(last - 512, b"conectix")]),
        ("VHD disk image", vec![(last - 511, b"conectix")]),
        ("ZFS pool member", vec![(130 << 10, &ring)]),
        ("ZFS pool member", vec![((3 << 20) - (256 << 10) + (200 << 10), &ring_big_endian)]),
        ("GPT partition table", vec![(512, b"EFI PART")]),
        ("GPT partition table", vec![(4096, b"EFI PART")]),
        ("GPT partition table", vec![(last - 512, b"EFI PART")]),
        ("tar archive", vec![(0, &tar_name), (148, tar_sum.as_bytes())]),
        ("PE program", vec![(0, b"MZ"), (60, &[0x80, 0, 0, 0]), (128, b"PE\0\0")]),
        ("gzip archive", vec![(0, b"\x1f\x8b\x08\x08\0\0\0\0\x02\x03")]),
        ("bzip2 archive", vec![(0, b"BZh91AY&SY")]),
        ("ELF program", vec![(0, b"\x7fELF\x02\x01\x01")]),
        ("Flashlane lanes", vec![(0, b"flashlane lanes\0")]),
        ("Flashlane lanes", vec![((last & !4095) - 4096, b"flashlane lanes\0")]),
        ("Flashlane blocks", vec![(12_288, header)]),
        ("Flashlane blocks", vec![(1 << 20, header)]),
        ("log of a Flashlane store", vec![(4096, b"flashkvh")]),
        // Both copies of its header are lost.
        ("log of a Flashlane store", vec![(8192, b"flashend"), (8204, &[1, 0, 0, 0])]),
        ("log of a Flashlane store", vec![(16_384, b"flashlog"), (16_396, &[1, 0, 0, 0])]),
        ("MBR partition table", vec![(446, &entry(0x83)), (510, b"\x55\xaa")]),
    ] {
        let found = look(&image_with(LENGTH, &marks));
        assert_eq!(found.iter().map(|s| &*s.what).collect::<Vec<_>>(), [what], "{marks:?}");
    }
}

#[test]
fn own_data_is_found_where_both_ends_are_lost() {
    const LENGTH: usize = 9 << 20;
    let header = b"FLBLOCKS\x01\0\0\0\x01\0\0\0".as_slice();
    let page = b"flashlog\xaa\xaa\xaa\xaa\x01\0\0\0".as_slice();
    for (what, at, bytes) in [
        ("Flashlane blocks", (1 << 20) + 8192, header),
        ("Flashlane blocks", 5 << 20, header),
        ("Flashlane blocks", (5 << 20) + 8192, header),
        ("log of a Flashlane store", 7 << 20, page),
    ] {
        let found = look(&image_with(LENGTH, &[(at, bytes)]));
        assert_eq!(found, [plain(what, at)]);
    }
    // Elsewhere only where the data of a sparse file begins there.
    let at = (5 << 20) + (512 << 10);
    let image = image_with(LENGTH, &[(at, header)]);
    assert_eq!(look(&image), []);
    assert_eq!(look_behind(&image, &[0, at + 512, LENGTH as u64]), [plain("Flashlane blocks", at)]);
}

/// As on a partition from sector 63 on, or behind the header of an image.
#[test]
fn own_data_is_found_from_any_sector_on() {
    let header = b"FLBLOCKS\x01\0\0\0\x02\0\0\0".as_slice();
    let page = b"flashlog\0\0\0\0\x01\0\0\0".as_slice();
    for (what, bytes) in [
        (OWN_LANES, b"flashlane lanes\0".as_slice()),
        (OWN_BLOCKS, header),
        (OWN_LOG, b"flashkvh"),
        (OWN_LOG, page),
    ] {
        for at in [512, 63 * 512, (1 << 20) + 63 * 512, (5 << 20) + 512, (16 << 20) - 1536] {
            let found = look(&image_with(16 << 20, &[(at, bytes)]));
            assert_eq!(found.len(), 1, "{what} at {at}");
            assert_eq!((found[0].what.as_str(), found[0].offset_bytes), (what, at));
        }
        assert_eq!(look(&image_with(16 << 20, &[(511, bytes)])), []);
    }
}

#[test]
fn unreadable_data_further_in_hides_no_other() {
    let header = b"FLBLOCKS\x01\0\0\0\x01\0\0\0".as_slice();
    let image = image_with(9 << 20, &[((5 << 20) + 8192, header)]);
    let bad = (5 << 20) + 4096..(5 << 20) + 8192;
    let read_at = |at: u64, buffer: &mut [u8]| {
        if at < bad.end && at + buffer.len() as u64 > bad.start {
            return Err(io::ErrorKind::Other.into());
        }
        buffer.copy_from_slice(&image[at as usize..][..buffer.len()]);
        Ok(buffer.len())
    };
    let found = find(image.len() as u64, &[], read_at).unwrap();
    assert_eq!(found, [plain("Flashlane blocks", (5 << 20) + 8192)]);
}

#[test]
fn ext_versions_are_distinguished_and_named() {
    let base: [(u64, &[u8]); 4] =
        [(1024, &[1, 0, 0, 0]), (1080, &[0x53, 0xef]), (1128, &[0xab; 16]), (1144, b"data\0")];
    for (what, compatible, incompatible) in
        [("ext2 file system", 0_u8, 2_u8), ("ext3 file system", 4, 2), ("ext4 file system", 4, 0x42)]
    {
        let features = [(1116, [compatible].to_vec()), (1120, [incompatible].to_vec())];
        let marks: Vec<(u64, &[u8])> =
            base.into_iter().chain(features.iter().map(|(at, b)| (*at, b.as_slice()))).collect();
        let found = look(&image_with(1 << 20, &marks));
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            format!("{what} (at byte 1080, UUID abababab-abab-abab-abab-abababababab, label data)")
        );
    }
}

#[test]
fn zeros_noise_and_near_matches_have_no_signature() {
    for length in [0, 1, 511, 4096, 70_000, 2 << 20] {
        assert_eq!(look(&vec![0; length]), []);
    }
    for seed in 0..20 {
        let mut source = flashlane_base::Seed(seed).derive("noise").source();
        let noise: Vec<u8> = (0..1 << 18).flat_map(|_| source.bits().to_le_bytes()).collect();
        assert_eq!(look(&noise), [], "seed {seed}");
    }
    // Text about blocks, a header where no unit begins, a compressed file of an unknown kind, an incomplete `ustar`.
    let marks: [(u64, &[u8]); 5] = [
        (4096, b"FLBLOCKS are"),
        (4096, b"flashlog of a camera"),
        (8000, b"FLBLOCKS\x01\0\0\0\x02\0\0\0"),
        (0, b"\x1f\x8b\x08\xff"),
        (257, b"ustar is"),
    ];
    for mark in marks {
        assert_eq!(look(&image_with(1 << 20, &[mark])), [], "{mark:?}");
    }
    // A wrong checksum, one without a name, and programs of DOS alone have none.
    for marks in [
        [(0, b"name".as_slice()), (148, b"000644\0 ")],
        [(148, b"000400\0 "), (300, b"")],
        [(0, b"MZ"), (60, b"\xff\xff\xff\xff")],
    ] {
        assert_eq!(look(&image_with(1 << 20, &marks)), [], "{marks:?}");
    }
    // The last bytes of a boot sector alone are not a partition table.
    assert_eq!(look(&image_with(1 << 20, &[(510, b"\x55\xaa")])), []);
}

#[test]
fn label_with_control_characters_is_dropped() {
    let found = look(&image_with(1 << 20, &[(0, b"XFSB"), (108, b"\x1b[2Jgone")]));
    assert_eq!(found[0].label, None);
}

#[test]
fn search_of_any_device_length_never_panics() {
    let mut image = vec![0; (1 << 20) + 777];
    for mark in MARKS {
        let at = mark.offset_bytes as usize;
        image[at..at + mark.bytes.len()].copy_from_slice(mark.bytes);
    }
    let edges = MARKS.iter().map(|mark| mark.offset_bytes as usize);
    for edge in edges.chain([512, 4096, 65_536, 262_144, 524_288, 786_432, 1 << 20]) {
        for length in edge.saturating_sub(2)..edge + 40 {
            look(&image[..length.min(image.len())]);
        }
    }
    // Reads shorter than the given length, and an implausible length.
    for promised in [1 << 20, u64::MAX] {
        let read_at = |at: u64, buffer: &mut [u8]| {
            let count = if at < 5000 { buffer.len().min(5000 - at as usize) } else { 0 };
            buffer[..count].fill(0x55);
            Ok(count)
        };
        assert_eq!(find(promised, &[], read_at).unwrap(), []);
    }
    assert!(find(1 << 20, &[], |_, _| Err(io::ErrorKind::Other.into())).is_err());
}
