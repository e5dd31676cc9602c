//! Files of overlays and of their layers, which require root to mount. Elsewhere each test prints that it was skipped,
//! and why.

use crate::blocks::{attach, findings, run, unmount};
use crate::stacks::{Mounted, Running, presents};
use flashlane_host::{Finding, OpenError, OpenOptions};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An overlay `merged` of the directories `lower` and `upper`, unmounted on drop.
struct Overlay(tempfile::TempDir);

impl Overlay {
    /// Mounts it, its layers named by relative paths or not: the kernel keeps the names, and not the directory at which
    /// they begin. Prints the reason where nothing can be mounted.
    fn new(is_relative: bool) -> Option<Self> {
        let layers = |base: &str| format!("lowerdir={base}lower,upperdir={base}upper,workdir={base}work");
        Self::mounted(is_relative, |_| {}, layers)
    }

    /// Mounts one whose file `image` has its name in `lower` and its data, of this length, in the data-only layer
    /// `data`, under another name.
    fn data_only(is_relative: bool, length_bytes: usize) -> Option<Self> {
        let fill = |folder: &Path| {
            let (name, data) = (folder.join("lower/image"), folder.join("data/bytes"));
            fs::create_dir(folder.join("data")).unwrap();
            fs::write(data, (0..length_bytes).map(|at| at as u8).collect::<Vec<_>>()).unwrap();
            fs::File::create(&name).unwrap().set_len(length_bytes as u64).unwrap();
            for (attribute, value) in [("metacopy", ""), ("redirect", "/bytes")] {
                let attribute = format!("trusted.overlay.{attribute}");
                // Where it fails, nothing can be mounted either.
                let _ =
                    rustix::fs::setxattr(&name, attribute, value.as_bytes(), rustix::fs::XattrFlags::empty());
            }
        };
        let layers = |base: &str| format!("lowerdir={base}lower::{base}data,metacopy=on,redirect_dir=on");
        Self::mounted(is_relative, fill, layers)
    }

    fn mounted(is_relative: bool, fill: impl Fn(&Path), layers: impl Fn(&str) -> String) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        for name in ["lower", "upper", "work", "merged"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fill(folder.path());
        let dir = folder.path().display();
        let options = layers(&if is_relative { String::new() } else { format!("{dir}/") });
        match run("sh", &["-c", &format!("cd {dir} && mount -t overlay overlay -o {options} merged")]) {
            Ok(_) => Some(Self(folder)),
            Err(e) => {
                println!("skipped: cannot mount here: {e}");
                None
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn is_mounted(&self) -> bool {
        run("mountpoint", &["-q", self.path("merged").to_str().unwrap()]).is_ok()
    }

    /// Takes the upper layer's name from it, and gives it to a folder with a file of the same name and length.
    fn rename_layer(&self) {
        fs::rename(self.path("upper"), self.path("renamed")).unwrap();
        fs::create_dir(self.path("upper")).unwrap();
        let length_bytes = fs::metadata(self.path("renamed/image")).unwrap().len();
        fs::File::create(self.path("upper/image")).unwrap().set_len(length_bytes).unwrap();
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        if self.is_mounted() {
            unmount(&self.path("merged"));
        }
    }
}

/// Loop devices, each over the one before, detached on drop.
struct Loops(Vec<String>);

impl Loops {
    fn over(file: &Path) -> Option<Self> {
        let mut loops = Self(Vec::new());
        for _ in 0..2 {
            let below = loops.0.last().map_or(file.to_str().unwrap(), String::as_str);
            match attach(&[below]) {
                Ok(device) => loops.0.push(device),
                Err(e) => {
                    println!("skipped: cannot create a loop device here: {e}");
                    return None;
                }
            }
        }
        Some(loops)
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        self.0.iter().rev().for_each(|device| drop(run("losetup", &["-d", device]).unwrap()));
    }
}

/// Returns every reason not to overwrite a file or device; none where it opens.
pub fn reasons(path: &Path) -> Vec<Finding> {
    match OpenOptions::read_write(path).open() {
        Err(OpenError::Refused { findings, .. }) => findings,
        Err(e) => panic!("{e}"),
        Ok(_) => Vec::new(),
    }
}

fn is_open(found: &[Finding]) -> bool {
    found.iter().any(|finding| matches!(finding, Finding::Open { .. }))
}

#[test]
fn loop_devices_see_programs_through_an_overlay() {
    for is_relative in [false, true] {
        let Some(overlay) = Overlay::new(is_relative) else { return };
        // No other test has files of this length.
        fs::write(overlay.path("upper/image"), vec![0; 29 * 4096]).unwrap();
        for (below, opened) in [("upper/image", "merged/image"), ("merged/image", "upper/image")] {
            let Some(loops) = Loops::over(&overlay.path(below)) else { return };
            let device = Path::new(&loops.0[1]);
            assert!(!is_open(&reasons(device)), "{below}");
            let _user = Running::with_open(&overlay.path(opened));
            assert!(is_open(&reasons(device)), "{below}, relative: {is_relative}");
        }
    }
}

#[test]
fn loop_devices_see_programs_through_an_overlay_that_is_hidden() {
    for hides in ["unmount", "rename", "rename a copied file"] {
        let Some(overlay) = Overlay::new(false) else { return };
        let [merged, upper] = ["merged/image", "upper/image"].map(|name| overlay.path(name));
        fs::write(
            if hides.ends_with("file") { overlay.path("lower/image") } else { upper },
            vec![1; 53 * 4096],
        )
        .unwrap();
        // Written through the overlay, a file of the lower layer is copied to the upper one, and keeps its inode
        // number.
        fs::File::options().write(true).open(&merged).unwrap().write_all(b"mine").unwrap();
        let _user = Running::with_open(&merged);
        let layer = match hides {
            "unmount" => run("umount", &["--lazy", overlay.path("merged").to_str().unwrap()])
                .map(|_| overlay.path("upper/image"))
                .unwrap(),
            _ => {
                overlay.rename_layer();
                overlay.path("renamed/image")
            }
        };
        let Some(loops) = Loops::over(&layer) else { return };
        let found = reasons(Path::new(&loops.0[1]));
        assert!(is_open(&found), "{hides}: {found:?}");
        // A file of another length is none of the overlay's.
        fs::write(overlay.path("beside"), vec![0; 54 * 4096]).unwrap();
        assert!(!is_open(&reasons(&overlay.path("beside"))), "{hides}");
    }
}

#[test]
fn data_of_a_data_only_layer_is_in_use() {
    for (nth, hides) in ["nothing", "relative names", "unmount", "rename"].into_iter().enumerate() {
        // No other test has files of these lengths.
        let length_bytes = (67 + nth) * 4096;
        let Some(overlay) = Overlay::data_only(hides == "relative names", length_bytes) else { return };
        let [merged, data, renamed] = ["merged/image", "data", "renamed"].map(|name| overlay.path(name));
        if fs::read(&merged).unwrap() != fs::read(data.join("bytes")).unwrap() {
            return println!("skipped: this kernel has no data-only layers");
        }
        let user = Running::reading(&merged);
        match hides {
            "unmount" => {
                run("umount", &["--lazy", overlay.path("merged").to_str().unwrap()]).unwrap();
            }
            "rename" => {
                fs::rename(&data, &renamed).unwrap();
                fs::create_dir(&data).unwrap();
                fs::write(data.join("bytes"), vec![0; length_bytes]).unwrap();
            }
            _ => {}
        }
        let bytes = if hides == "rename" { renamed } else { data }.join("bytes");
        let Some(loops) = Loops::over(&bytes) else { return };
        let found = reasons(Path::new(&loops.0[1]));
        assert!(is_open(&found), "{hides}: {found:?}");
        // Other bytes of the same length are another file.
        fs::write(overlay.path("beside"), vec![7; length_bytes]).unwrap();
        assert_eq!(reasons(&overlay.path("beside")), [], "{hides}");
        drop(user);
        if matches!(hides, "nothing" | "relative names") {
            let found = [bytes.as_path(), Path::new(&loops.0[1])].map(reasons);
            let is_over = |finding: &Finding| matches!(finding, Finding::Layer { .. });
            assert!(found.iter().all(|found| found.iter().any(is_over)), "{hides}: {found:?}");
        }
    }
}

#[test]
fn files_see_loop_devices_through_an_overlay_that_is_hidden() {
    for is_renamed in [false, true] {
        let Some(overlay) = Overlay::new(false) else { return };
        fs::write(overlay.path("upper/image"), vec![0; 59 * 4096]).unwrap();
        let Some(loops) = Loops::over(&overlay.path("merged/image")) else { return };
        let layer = if is_renamed {
            overlay.rename_layer();
            overlay.path("renamed/image")
        } else {
            run("umount", &["--lazy", overlay.path("merged").to_str().unwrap()]).unwrap();
            overlay.path("upper/image")
        };
        let found = reasons(&layer);
        assert!(presents(&found, loops.0[0].trim_start_matches("/dev/")), "{is_renamed}: {found:?}");
    }
}

#[test]
fn loop_devices_see_each_other_through_an_overlay() {
    let Some(overlay) = Overlay::new(true) else { return };
    fs::write(overlay.path("upper/image"), vec![0; 31 * 4096]).unwrap();
    fs::write(overlay.path("upper/other"), vec![0; 37 * 4096]).unwrap();
    let loops = ["upper/image", "merged/image", "merged/other"].map(|file| Loops::over(&overlay.path(file)));
    let [Some(layer), Some(merged), Some(other)] = &loops else { return };
    for (one, two) in [(layer, merged), (merged, layer)] {
        let found = reasons(Path::new(&one.0[1]));
        assert!(presents(&found, two.0[0].trim_start_matches("/dev/")), "{found:?}");
        assert!(!presents(&found, other.0[0].trim_start_matches("/dev/")), "{found:?}");
    }
}

#[test]
fn layers_of_a_mounted_overlay_are_in_use() {
    for is_relative in [false, true] {
        let Some(overlay) = Overlay::new(is_relative) else { return };
        for name in ["upper/image", "lower/old", "beside"] {
            fs::write(overlay.path(name), vec![0; 41 * 4096]).unwrap();
        }
        let at = overlay.path("merged");
        let assert_is_layer = |path: &Path| {
            let found = reasons(path);
            let is_over =
                |finding: &Finding| matches!(finding, Finding::Layer { overlay, .. } if *overlay == at);
            assert!(found.iter().any(is_over), "{}, relative: {is_relative}: {found:?}", path.display());
        };
        for layer in ["upper/image", "lower/old"].map(|name| overlay.path(name)) {
            assert_is_layer(&layer);
            let Some(loops) = Loops::over(&layer) else { return };
            for device in &loops.0 {
                assert_is_layer(Path::new(device));
            }
        }
        for free in ["beside", "merged/image", "merged/old"].map(|name| overlay.path(name)) {
            assert_eq!(reasons(&free), [], "{}", free.display());
        }
    }
}

#[test]
fn layers_of_an_overlay_that_only_a_process_is_in_are_in_use() {
    let Some(overlay) = Overlay::new(false) else { return };
    fs::create_dir_all(overlay.path("upper/folder/below")).unwrap();
    // No other test has files of this length.
    for name in ["upper/image", "lower/copied", "beside"] {
        fs::write(overlay.path(name), vec![name.len() as u8; 71 * 4096]).unwrap();
    }
    fs::File::options().write(true).open(overlay.path("merged/copied")).unwrap().write_all(b"mine").unwrap();
    let user = Running::inside(&overlay.path("merged/folder/below"));
    run("umount", &["--lazy", overlay.path("merged").to_str().unwrap()]).unwrap();
    let is_over = |finding: &Finding| matches!(finding, Finding::Layer { .. });
    for name in ["upper/image", "upper/copied"] {
        let found = reasons(&overlay.path(name));
        assert!(found.iter().any(is_over), "{name}: {found:?}");
    }
    assert_eq!(reasons(&overlay.path("beside")), []);
    drop(user);
    assert_eq!(reasons(&overlay.path("upper/image")), []);
}

#[test]
fn link_to_a_file_of_a_layer_is_in_use() {
    for is_relative in [false, true] {
        let Some(overlay) = Overlay::new(is_relative) else { return };
        fs::create_dir(overlay.path("upper/folder")).unwrap();
        let link = overlay.path("link");
        fs::write(overlay.path("upper/folder/image"), vec![0; 61 * 4096]).unwrap();
        fs::hard_link(overlay.path("upper/folder/image"), &link).unwrap();
        let Some(loops) = Loops::over(&link) else { return };
        for path in [link.as_path(), Path::new(&loops.0[0]), Path::new(&loops.0[1])] {
            let found = reasons(path);
            let is_over = |finding: &Finding| matches!(finding, Finding::Layer { file, overlay: at } if *file == link && *at == overlay.path("merged"));
            assert!(found.iter().any(is_over), "{}, relative: {is_relative}: {found:?}", path.display());
        }
        drop(loops);
        fs::write(overlay.path("free"), vec![0; 61 * 4096]).unwrap();
        fs::hard_link(overlay.path("free"), overlay.path("free too")).unwrap();
        assert_eq!(reasons(&overlay.path("free")), [], "relative: {is_relative}");
    }
}

#[test]
fn part_of_a_layer_that_is_mounted_elsewhere_is_in_use() {
    let Some(overlay) = Overlay::new(false) else { return };
    fs::create_dir(overlay.path("upper/part")).unwrap();
    let layer = overlay.path("upper/part/image");
    fs::write(&layer, vec![0; 47 * 4096]).unwrap();
    let Some(part) = Mounted::new(&["--bind", overlay.path("upper/part").to_str().unwrap()]) else { return };
    fs::write(overlay.path("file"), "").unwrap();
    let file = overlay.path("file");
    run("mount", &["--bind", layer.to_str().unwrap(), file.to_str().unwrap()]).unwrap();
    let found = [part.at.join("image"), file.clone()].map(|path| reasons(&path));
    unmount(&file);
    for found in found {
        let is_over = |finding: &Finding| matches!(finding, Finding::Layer { .. });
        assert!(found.iter().any(is_over), "{found:?}");
    }
}

#[test]
fn file_of_an_overlay_is_claimed_in_its_layer_too() {
    let Some(overlay) = Overlay::new(false) else { return };
    let [merged, layer] = ["merged/image", "upper/image"].map(|name| overlay.path(name));
    fs::write(&layer, vec![0; 43 * 4096]).unwrap();
    let Some(loops) = Loops::over(&layer) else { return };
    let held = OpenOptions::read_write(&merged).really(&merged).open().unwrap();
    for path in [layer.as_path(), Path::new(&loops.0[0]), Path::new(&loops.0[1])] {
        let refused = OpenOptions::read_write(path).really(path).open().map(drop);
        assert!(matches!(refused, Err(OpenError::Locked { .. })), "{}: {refused:?}", path.display());
    }
    drop(held);
    // The survey passes over the descriptors of this process.
    let unseen = fs::File::open(&layer).unwrap();
    drop(loops);
    assert_eq!(reasons(&merged), [Finding::OpenUnseen]);
    drop(unseen);
    assert_eq!(reasons(&merged), []);
}

#[test]
fn file_in_an_overlay_layer_is_the_overlays_file() {
    let Some(overlay) = Overlay::new(false) else { return };
    let image = overlay.path("lower/image");
    fs::File::create(&image).unwrap().set_len(4 << 20).unwrap();
    let device = match attach(&["--read-only", overlay.path("merged/image").to_str().unwrap()]) {
        Ok(device) => device,
        Err(e) => return println!("skipped: cannot create a loop device here: {e}"),
    };
    let found = findings(&image);
    run("losetup", &["-d", &device]).unwrap();
    assert!(presents(&found, device.trim_start_matches("/dev/")), "{found:?}");
}

#[test]
fn file_used_through_an_overlay_is_that_of_its_layer() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("lower")).unwrap();
    // Layers on two file systems: the files of the overlay have device numbers of their own.
    let Some(upper) = Mounted::new(&["-t", "tmpfs", "none"]) else { return };
    let (upper_dir, work) = (upper.at.join("upper"), upper.at.join("work"));
    [&upper_dir, &work].iter().for_each(|path| fs::create_dir(path).unwrap());
    for file in [upper_dir.join("new"), path("lower/old"), path("lower/copied")] {
        fs::write(file, vec![7_u8; 7 * 4096]).unwrap();
    }
    let lower = path("lower");
    let options =
        format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper_dir.display(), work.display());
    let Some(merged) = Mounted::new(&["-t", "overlay", "overlay", "-o", &options]) else { return };
    fs::OpenOptions::new().append(true).open(merged.at.join("copied")).unwrap().write_all(b"more").unwrap();
    let layers = [upper_dir.join("new"), lower.join("old"), upper_dir.join("copied")];
    assert!(!layers.iter().any(|path| is_open(&reasons(path))), "nothing has them open");
    for (name, layer) in ["new", "old", "copied"].iter().zip(&layers) {
        let file = fs::File::open(merged.at.join(name)).unwrap();
        let _user = Running(Command::new("sleep").arg("60").stdin(file).spawn().unwrap());
        assert!(is_open(&reasons(layer)), "{name}");
    }
}

#[test]
fn file_in_an_overlay_layer_that_cannot_be_named_is_the_overlays_file() {
    let Some(overlay) = Overlay::new(true) else { return };
    let [image, other] = ["upper/image", "upper/other"].map(|name| overlay.path(name));
    // No other test has files of these lengths.
    fs::File::create(&image).unwrap().set_len((5 << 20) + 100).unwrap();
    fs::File::create(&other).unwrap().set_len(6 << 20).unwrap();
    let device = match attach(&["--offset", "1048576", overlay.path("merged/image").to_str().unwrap()]) {
        Ok(device) => device,
        Err(e) => return println!("skipped: cannot create a loop device here: {e}"),
    };
    let [image, other] = [&image, &other].map(|path| reasons(path));
    run("losetup", &["-d", &device]).unwrap();
    let name = device.trim_start_matches("/dev/");
    assert!(presents(&image, name), "{image:?}");
    assert!(!presents(&other, name), "{other:?}");
}
