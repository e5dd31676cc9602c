//! Overlays in mount namespaces that no process is in, which require root. Elsewhere each test prints that it was
//! skipped, and why.

use crate::blocks::{run, unmount};
use crate::overlays::reasons;
use crate::stacks::{Mounted, Running};
use flashlane_host::Finding;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs;
use std::io::{BufRead, BufReader, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Sends a descriptor to a socket that does not receive it.
pub fn send(file: &fs::File) -> (UnixStream, UnixStream) {
    let (sender, receiver) = UnixStream::pair().unwrap();
    let descriptors = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    assert!(message.push(SendAncillaryMessage::ScmRights(&descriptors)));
    sendmsg(&sender, &[IoSlice::new(b"x")], &mut message, SendFlags::empty()).unwrap();
    (sender, receiver)
}

/// Directories of an overlay, and a file `image` in its upper layer.
struct Layers(Mounted);

impl Layers {
    /// On a file system whose mounts other namespaces do not get. Prints the reason where nothing can be mounted.
    fn new() -> Option<Self> {
        let layers = Self(Mounted::new(&["-t", "tmpfs", "none"])?);
        run("mount", &["--make-private", layers.0.at.to_str().unwrap()]).unwrap();
        for name in ["lower", "upper", "work", "merged"] {
            fs::create_dir(layers.path(name)).unwrap();
        }
        fs::write(layers.path("upper/image"), vec![7; 4096]).unwrap();
        fs::write(layers.path("beside"), vec![9; 4096]).unwrap();
        Some(layers)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.at.join(name)
    }

    /// Starts a process with a namespace of its own, in which this script was run, and returns once it was.
    fn process(&self, script: &str) -> Running {
        let script = format!("cd {} && {script} && cd / && echo ready && read wait", self.path("").display());
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
        let mut process = Running(unshare.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{script}");
        process
    }

    /// Starts one that has the overlay mounted.
    fn mounting(&self) -> Running {
        let dir = self.path("").display().to_string();
        let options = format!("lowerdir={dir}lower,upperdir={dir}upper,workdir={dir}work");
        self.process(&format!("mount -t overlay overlay -o {options} merged"))
    }

    /// Returns whether the image is found to be in use, and a file beside the layers is not.
    fn is_in_use(&self) -> bool {
        let is_over = |finding: &Finding| matches!(finding, Finding::Layer { .. });
        assert_eq!(reasons(&self.path("beside")), []);
        reasons(&self.path("upper/image")).iter().any(is_over)
    }

    /// Returns whether the image is free soon: the survey of another test may be in the namespace.
    fn is_free_soon(&self) -> bool {
        (0..40).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(25));
            !self.is_in_use()
        })
    }
}

fn namespace_of(process: &Running) -> PathBuf {
    format!("/proc/{}/ns/mnt", process.0.id()).into()
}

/// Binds a namespace to a new file, which keeps it.
fn bind(namespace: &Path, file: &Path) {
    fs::write(file, "").unwrap();
    run("mount", &["--bind", namespace.to_str().unwrap(), file.to_str().unwrap()]).unwrap();
}

#[test]
fn overlay_of_a_namespace_that_a_file_keeps_is_in_use() {
    let Some(layers) = Layers::new() else { return };
    let process = layers.mounting();
    bind(&namespace_of(&process), &layers.path("kept"));
    drop(process);
    let is_in_use = layers.is_in_use();
    unmount(&layers.path("kept"));
    assert!(is_in_use);
    assert!(layers.is_free_soon());
}

#[test]
fn overlay_of_a_namespace_that_a_descriptor_keeps_is_in_use() {
    let Some(layers) = Layers::new() else { return };
    let process = layers.mounting();
    let kept = fs::File::open(namespace_of(&process)).unwrap();
    drop(process);
    assert!(layers.is_in_use());
    let on_its_way = send(&kept);
    drop(kept);
    let is_listed = layers.is_in_use();
    drop(on_its_way);
    assert!(layers.is_free_soon());
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|character: char| !character.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < (6, 11) => {
            println!("skipped: Linux {release} does not list its mount namespaces")
        }
        _ => assert!(is_listed),
    }
}

#[test]
fn overlay_of_a_namespace_kept_inside_another_is_in_use() {
    let Some(layers) = Layers::new() else { return };
    // The kernel lets only a namespace that is older keep one.
    let outer = layers.process("true");
    let inner = layers.mounting();
    let outer_namespace = namespace_of(&outer);
    fs::write(layers.path("inner"), "").unwrap();
    let enter = format!("--mount={}", outer_namespace.display());
    let [from, to] = [namespace_of(&inner), layers.path("inner")].map(|path| path.display().to_string());
    run("nsenter", &[&enter, "mount", "--bind", &from, &to]).unwrap();
    bind(&outer_namespace, &layers.path("outer"));
    drop((outer, inner));
    let is_in_use = layers.is_in_use();
    unmount(&layers.path("outer"));
    assert!(is_in_use);
    assert!(layers.is_free_soon());
}
