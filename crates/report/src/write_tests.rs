use super::*;
use std::fs;
use std::os::unix::fs::symlink;

fn figure_result(ids: &[&str]) -> Report {
    let axis = serde_json::json!({ "label": "x", "unit": "", "scale": "linear" });
    let figure = |id: &&str| serde_json::json!({ "id": id, "title": id, "x": axis, "y": axis, "series": [] });
    let figures: Vec<Value> = ids.iter().map(figure).collect();
    let result = serde_json::json!({ "schema": "flashlane.study/1", "paper": "x", "rows": [], "figures": figures,
        "warnings": [], "partial": null });
    Report::read(result).unwrap()
}

fn some_samples() -> Samples {
    Samples::new().with_u64("latency_ns", vec![1]).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

fn listed(dir: &Path) -> Vec<String> {
    let result: Value = serde_json::from_str(&fs::read_to_string(dir.join(RESULT)).unwrap()).unwrap();
    let mut names: Vec<String> =
        result[FILES].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn figure_names_are_unique_and_within_the_directory() {
    let mut taken = BTreeSet::new();
    let mut name = |id: &str| figure_file(id, &mut taken, |_| true);
    assert_eq!(name("fig3-2jobs"), "fig3-2jobs.svg");
    assert_eq!(name("FIG3-2jobs"), "FIG3-2jobs-2.svg");
    assert_eq!(name("../../etc/passwd"), "-..-etc-passwd.svg");
    assert_eq!(name(""), "figure.svg");
    assert_eq!(name(""), "figure-2.svg");
    assert!(name(&"x".repeat(1000)).len() < 200);
}

#[test]
fn result_replaces_the_files_of_the_earlier_one() {
    let dir = tempfile::tempdir().unwrap();
    check_place(dir.path(), false).unwrap();
    write_all(dir.path(), false, &figure_result(&["a", "b"]), Some(&some_samples())).unwrap();
    assert_eq!(listed(dir.path()), names(dir.path()));
    assert_eq!(names(dir.path()), ["a.svg", "b.svg", "report.html", "result.json", "samples.parquet"]);
    fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    check_place(dir.path(), false).unwrap();
    let written = write_all(dir.path(), false, &figure_result(&["b", "c"]), None).unwrap();
    let written = written.files;
    // Files that the new result does not have are removed: they would be mistaken for its files.
    assert_eq!(names(dir.path()), ["b.svg", "c.svg", "notes.txt", "report.html", "result.json"]);
    assert_eq!(listed(dir.path()), ["b.svg", "c.svg", "report.html", "result.json"]);
    assert_eq!(written.len(), 4);
}

#[test]
fn files_of_the_user_are_not_replaced_beside_a_result() {
    let dir = tempfile::tempdir().unwrap();
    write_all(dir.path(), false, &figure_result(&["a"]), None).unwrap();
    fs::write(dir.path().join("b.svg"), "mine").unwrap();
    // It begins as ours.
    fs::write(dir.path().join(SAMPLES), "PAR1 mine").unwrap();
    let error = check_place(dir.path(), false).unwrap_err();
    assert!(matches!(&error, ReportError::Foreign { path } if path.ends_with(SAMPLES)), "{error}");
    let error = write_all(dir.path(), false, &figure_result(&["a"]), Some(&some_samples())).unwrap_err();
    assert!(matches!(&error, ReportError::Foreign { path } if path.ends_with(SAMPLES)), "{error}");
    // A figure gets another name, so that a long run is not lost.
    let written = write_all(dir.path(), false, &figure_result(&["a", "b"]), None).unwrap();
    assert_eq!(listed(dir.path()), ["a.svg", "b-2.svg", "report.html", "result.json"]);
    let [Renamed { taken, plot }] = &written.renamed[..] else { panic!("{:?}", written.renamed) };
    assert_eq!((taken, plot), (&dir.path().join("b.svg"), &dir.path().join("b-2.svg")));
    assert_eq!(fs::read_to_string(dir.path().join("b.svg")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(dir.path().join(SAMPLES)).unwrap(), "PAR1 mine");
    check_place(dir.path(), true).unwrap();
    write_all(dir.path(), true, &figure_result(&["b"]), Some(&some_samples())).unwrap();
    assert!(fs::read_to_string(dir.path().join("b.svg")).unwrap().contains("<svg"));
}

#[test]
fn links_are_not_followed() {
    let other = tempfile::tempdir().unwrap();
    let precious = other.path().join("precious");
    fs::write(&precious, "mine").unwrap();
    for name in [RESULT, PAGE, SAMPLES, "a.svg"] {
        for force in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            write_all(dir.path(), false, &figure_result(&["a"]), Some(&some_samples())).unwrap();
            fs::remove_file(dir.path().join(name)).unwrap();
            symlink(&precious, dir.path().join(name)).unwrap();
            let checked = check_place(dir.path(), force);
            let written = write_all(dir.path(), force, &figure_result(&["a"]), Some(&some_samples()));
            assert_eq!(fs::read_to_string(&precious).unwrap(), "mine", "{name}");
            assert!(dir.path().join(name).symlink_metadata().unwrap().is_symlink(), "{name}");
            if name == "a.svg" {
                // The figure gets another name.
                assert_eq!(checked.is_ok(), force);
                assert!(written.is_ok() && dir.path().join("a-2.svg").exists());
            } else {
                for error in [checked.unwrap_err(), written.unwrap_err()] {
                    assert!(
                        matches!(&error, ReportError::NotRegular { path } if path.ends_with(name)),
                        "{error}"
                    );
                }
            }
        }
    }
}

#[test]
fn directory_with_other_files_is_refused_unless_forced() {
    for name in ["README.md", ".git", "samples.parquet", "a.svg", RESULT, PAGE, "uflip.journal", "points"] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(name), "mine").unwrap();
        let error = check_place(dir.path(), false).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
        assert_eq!(names(dir.path()), [name], "nothing was written");
        check_place(dir.path(), true).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("points")).unwrap();
    fs::write(dir.path().join("points/notes.json"), "mine").unwrap();
    assert!(check_place(dir.path(), false).is_err());
}

#[test]
fn directory_of_a_stopped_command_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("uflip.journal"), "{\"uflip\":1}\n").unwrap();
    fs::write(dir.path().join(".flashlane-x.part"), "half").unwrap();
    fs::create_dir(dir.path().join("points")).unwrap();
    fs::write(dir.path().join("points/a=1-0123456789abcdef.json"), "{}").unwrap();
    check_place(dir.path(), false).unwrap();
    let page = tempfile::tempdir().unwrap();
    write_page(page.path(), false, &[]).unwrap();
    check_place(page.path(), false).unwrap();
    write_page(page.path(), false, &[]).unwrap();
}

/// Writes a result of figure `a` with samples to `dir`, and lets `edit` change its `result.json`.
fn edited_result(dir: &Path, edit: impl FnOnce(&mut serde_json::Map<String, Value>)) {
    write_all(dir, false, &figure_result(&["a"]), Some(&some_samples())).unwrap();
    let mut result: Value = serde_json::from_str(&fs::read_to_string(dir.join(RESULT)).unwrap()).unwrap();
    edit(result.as_object_mut().unwrap());
    fs::write(dir.join(RESULT), result.to_string()).unwrap();
}

#[test]
fn edited_file_of_a_result_is_refused() {
    let result = figure_result(&["a"]);
    for name in [RESULT, PAGE, SAMPLES, "a.svg"] {
        for edit in
            [|text: &mut Vec<u8>| text.extend(b"x"), |text: &mut Vec<u8>| *text.last_mut().unwrap() ^= 1]
        {
            let dir = tempfile::tempdir().unwrap();
            write_all(dir.path(), false, &result, Some(&some_samples())).unwrap();
            check_place(dir.path(), false).unwrap();
            let path = dir.path().join(name);
            let mut text = fs::read(&path).unwrap();
            edit(&mut text);
            fs::write(&path, &text).unwrap();
            let error = check_place(dir.path(), false).unwrap_err();
            assert!(
                matches!(&error, ReportError::Foreign { path: found } if *found == path),
                "{name}: {error}"
            );
            let written = write_all(dir.path(), false, &result, Some(&some_samples()));
            // A figure gets another name.
            assert_eq!(written.map(|written| written.renamed.len()).ok(), (name == "a.svg").then_some(1));
            assert_eq!(fs::read(&path).unwrap(), text, "{name}");
            check_place(dir.path(), true).unwrap();
            write_all(dir.path(), true, &result, Some(&some_samples())).unwrap();
            assert_ne!(fs::read(&path).unwrap(), text, "{name}");
        }
    }
}

#[test]
fn edited_page_without_a_result_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let page = write_page(dir.path(), false, &[]).unwrap();
    let text = fs::read_to_string(&page).unwrap();
    for edited in
        [format!("{text}mine\n"), text.replace("Nothing", "Something"), text[..text.len() - 1].into()]
    {
        fs::write(&page, &edited).unwrap();
        for error in
            [check_place(dir.path(), false).unwrap_err(), write_page(dir.path(), false, &[]).unwrap_err()]
        {
            assert!(matches!(&error, ReportError::Foreign { path } if *path == page), "{error}");
        }
        assert_eq!(fs::read_to_string(&page).unwrap(), edited);
    }
}

#[test]
fn result_without_checksums_owns_no_files() {
    let dir = tempfile::tempdir().unwrap();
    edited_result(dir.path(), |result| drop(result.shift_remove(CHECKSUMS)));
    let error = check_place(dir.path(), false).unwrap_err();
    assert!(matches!(error, ReportError::OldResult { .. }), "{error}");
    check_place(dir.path(), true).unwrap();
}

#[test]
fn file_that_is_no_whole_result_is_refused() {
    for text in
        ["{\"schema\": \"flashlane.run/1\", \"checksums\": []}", "{}", "{\"schema\": \"flashlane.run/1\""]
    {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(RESULT), text).unwrap();
        let error = check_place(dir.path(), false).unwrap_err();
        assert!(matches!(&error, ReportError::Foreign { path } if path.ends_with(RESULT)), "{error}");
    }
}

#[test]
fn list_cannot_name_files_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("dir");
    let precious = root.path().join("precious.svg");
    fs::write(&precious, "mine").unwrap();
    edited_result(&dir, |result| {
        let files = ["../precious.svg", "notes.txt", precious.to_str().unwrap()];
        let stated = files.map(|file| Stated { file: file.into(), sum: Sum::of(b"mine") });
        result.insert(CHECKSUMS.into(), json!(stated));
    });
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    for name in ["a.svg", PAGE, SAMPLES] {
        fs::remove_file(dir.join(name)).unwrap();
    }
    write_all(&dir, false, &figure_result(&[]), None).unwrap();
    assert!(precious.exists() && dir.join("notes.txt").exists());
}

#[test]
fn interrupted_replacement_leaves_a_result_that_is_replaced() {
    let [old, new] = [&["a", "b"], &["a", "c"]].map(|ids| figure_result(ids));
    let [more, fewer] =
        [vec![1, 2], vec![3]].map(|values| Samples::new().with_u64("latency_ns", values).unwrap());
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_all(before.path(), false, &old, Some(&more)).unwrap();
    write_all(after.path(), false, &new, Some(&fewer)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    write_all(dir.path(), false, &old, Some(&more)).unwrap();
    // The first `result.json`, and some of the files.
    let mut files = Files::begin(dir.path(), false).unwrap();
    let sums = |dir: &Path| Directory::open(dir, false).unwrap().owned().collect::<Vec<_>>();
    let both = [sums(after.path()), sums(before.path())].concat();
    let names: Vec<String> = both.iter().map(|stated| stated.file.clone()).collect();
    files.put_result(new.json(), &names, &both).unwrap();
    files.put(SAMPLES, |out| fewer.write(out)).unwrap();
    drop(files);
    check_place(dir.path(), false).unwrap();
    write_all(dir.path(), false, &new, Some(&fewer)).unwrap();
    assert_eq!(names_and_bytes(dir.path()), names_and_bytes(after.path()));
}

fn names_and_bytes(dir: &Path) -> Vec<(String, Vec<u8>)> {
    names(dir).into_iter().map(|name| (name.clone(), fs::read(dir.join(name)).unwrap())).collect()
}

#[test]
fn unwritable_directory_is_refused_by_the_check() {
    let error = check_place(Path::new("/proc"), true).unwrap_err();
    assert!(matches!(&error, ReportError::Write { path, .. } if path.ends_with("result.json")), "{error}");
    let dir = tempfile::tempdir().unwrap();
    check_place(dir.path(), false).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "the check leaves no file");
}

#[test]
fn file_that_appears_during_a_write_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("a");
    let mut files = Files::begin(dir.path(), false).unwrap();
    let error = files.put("a", |out| {
        fs::write(&place, "precious")?;
        out.write_all(b"new")
    });
    let ReportError::Write { source, .. } = error.unwrap_err() else { panic!("no error of writing") };
    assert_eq!(source.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(&place).unwrap(), "precious");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn file_moved_over_an_earlier_one_during_a_write_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mine = dir.path().join("mine");
    for name in [PAGE, SAMPLES, RESULT] {
        write_all(dir.path(), false, &figure_result(&["a"]), Some(&some_samples())).unwrap();
        // It may even look as one of ours.
        fs::copy(dir.path().join(name), &mine).unwrap();
        let content = fs::read(&mine).unwrap();
        let mut files = Files::begin(dir.path(), false).unwrap();
        let error = files.put(name, |out| {
            fs::rename(&mine, dir.path().join(name))?;
            out.write_all(b"new")
        });
        let ReportError::Write { source, .. } = error.unwrap_err() else { panic!("no error of writing") };
        assert_eq!(source.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(dir.path().join(name)).unwrap(), content);
        assert_eq!(names(dir.path()).len(), 4, "no partial file remains");
    }
}

#[test]
fn file_moved_over_a_stale_one_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    write_all(dir.path(), false, &figure_result(&["a"]), None).unwrap();
    let directory = Directory::open(dir.path(), false).unwrap();
    let (stale, mine) = (directory.stale(&[]), dir.path().join("mine"));
    let plot = stale.into_iter().find(|(name, _)| name == "a.svg").unwrap().1;
    let path = dir.path().join("a.svg");
    fs::copy(&path, &mine).unwrap();
    assert!(plot.is_at(&path) && !plot.is_at(&mine));
    fs::rename(&mine, &path).unwrap();
    assert!(!plot.is_at(&path));
}

#[test]
fn full_disk_is_reported_and_keeps_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("b"), "old").unwrap();
    let mut files = Files::begin(dir.path(), true).unwrap();
    files.put("a", |out| out.write_all(b"new")).unwrap();
    let error = files
        .put("b", |out| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        })
        .unwrap_err();
    let ReportError::Write { path, doing, written, source } = &error else { panic!("{error}") };
    assert_eq!((path, *doing), (&dir.path().join("b"), "writing"));
    assert_eq!(written, &[dir.path().join("a")]);
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    assert_eq!(fs::read_to_string(dir.path().join("b")).unwrap(), "old");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no partial file remains");
    assert!(error.to_string().contains("already written"), "{error}");
}
