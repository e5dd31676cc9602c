//! Finds circles of files within a crate: files of which each uses something of the others, by paths from `crate::`.
//!
//! A path leads to the file that defines its name: what a module passes on from another (`pub use`) is followed. What a
//! file and its children share (`super::`, `self::`) is no arrow, and neither are tests.

use crate::sources::{rust_files, text_of};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The most files of a circle.
const MOST: usize = 3;
/// Crates that have no circles.
const WITHOUT: &[&str] = &["block", "sim", "measure"];
/// The most names that are followed from one module to the next.
const MOST_STEPS: usize = 8;

/// A module, by the parts of its path; the crate's root is empty.
type Module = Vec<String>;

/// What is known of a file.
struct Source {
    /// Words behind `fn`, `struct` and the like.
    defined: BTreeSet<String>,
    /// Paths of its `use` lines, as they are written.
    used: Vec<String>,
    /// Paths from `crate::` anywhere else in it.
    inline: Vec<String>,
}

/// The files of a crate.
struct Files(BTreeMap<Module, Source>);

/// Checks all crates.
///
/// # Errors
/// Names the files of each circle that is too large, or in a crate that has none.
pub fn check(root: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(root.join("crates")).context("cannot list the crates")? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let files = Files::read(&path.join("src"))?;
        count += files.0.len();
        let most = if WITHOUT.contains(&name.as_str()) { 1 } else { MOST };
        wrong.extend(files.circles().into_iter().filter(|circle| circle.len() > most).map(|circle| {
            format!("{name}: {} files use each other: {}; allowed: {most}", circle.len(), circle.join(", "))
        }));
    }
    wrong.sort();
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("arrows: no circle of the {count} files of crates has more than {MOST}");
    Ok(())
}

impl Files {
    fn read(source: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        for path in rust_files(source)? {
            let inner = path.strip_prefix(source).unwrap_or(&path).with_extension("");
            let mut module: Module = inner.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if module.contains(&"tests".to_owned()) {
                continue;
            }
            if module == ["lib"] || module == ["main"] {
                module.clear();
            }
            files.insert(module, Source::of(&text_of(&path)?));
        }
        Ok(Self(files))
    }

    /// Returns the absolute path of one that is written in `module`; `None` where it leads out of the crate.
    fn absolute(&self, module: &[String], path: &str) -> Option<Module> {
        let parts: Vec<String> = path.split("::").map(|part| part.trim().to_owned()).collect();
        let supers = parts.iter().take_while(|part| *part == "super").count();
        match parts[0].as_str() {
            "crate" => Some(parts[1..].to_vec()),
            "self" => Some([module, &parts[1..]].concat()),
            "super" => Some([&module[..module.len().checked_sub(supers)?], &parts[supers..]].concat()),
            first => {
                let child = [module, &[first.to_owned()]].concat();
                self.0.contains_key(&child).then(|| [module, &parts].concat())
            }
        }
    }

    /// Returns the module that defines what an absolute path names.
    fn definer(&self, path: &[String], steps: usize) -> Option<Module> {
        let length = (0..=path.len()).rev().find(|&length| self.0.contains_key(&path[..length]))?;
        let (module, rest) = path.split_at(length);
        let Some(name) = rest.first().filter(|name| !self.0[module].defined.contains(*name)) else {
            return Some(module.to_vec());
        };
        let passed_on = self.0[module].used.iter().filter_map(|used| self.absolute(module, used));
        let found = passed_on.filter(|_| steps < MOST_STEPS).find_map(|target| {
            let (last, before) = target.split_last()?;
            if last == name {
                return self.definer(&target, steps + 1);
            }
            let has_it = last == "*" && self.0.get(before).is_some_and(|file| file.has(name));
            has_it.then(|| self.definer(&[before, std::slice::from_ref(name)].concat(), steps + 1))?
        });
        Some(found.unwrap_or_else(|| module.to_vec()))
    }

    /// Returns the files that each file uses.
    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let of = |module: &Module, source: &Source| {
            let paths = source.used.iter().chain(&source.inline).filter(|path| path.starts_with("crate::"));
            let absolute = paths.filter_map(|path| self.absolute(module, path.trim_end_matches("::*")));
            absolute
                .filter_map(|path| self.definer(&path, 0))
                .filter(|used| used != module)
                .collect::<BTreeSet<_>>()
        };
        self.0.iter().map(|(module, source)| (module, of(module, source))).collect()
    }

    /// Returns the circles, each with the names of its files.
    fn circles(&self) -> Vec<Vec<String>> {
        let arrows = self.arrows();
        let reached = |from: &Module| {
            let (mut all, mut next) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(module) = next.pop() {
                next.extend(arrows[&module].iter().filter(|&used| all.insert(used.clone())).cloned());
            }
            all
        };
        let reached: BTreeMap<&Module, BTreeSet<Module>> =
            self.0.keys().map(|module| (module, reached(module))).collect();
        let circles: BTreeSet<Vec<String>> = self
            .0
            .keys()
            .filter(|&module| reached[module].contains(module))
            .map(|module| {
                let others = reached[module].iter().filter(|&other| reached[other].contains(module));
                others.map(|other| if other.is_empty() { "lib".into() } else { other.join("::") }).collect()
            })
            .collect();
        circles.into_iter().collect()
    }
}

impl Source {
    fn of(text: &str) -> Self {
        let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        let code = code.join("\n");
        // Tests within the file are its end.
        let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let (mut used, mut rest) = (Vec::new(), String::new());
        for statement in code.split_inclusive(';') {
            let begin = statement.rfind("use ").filter(|&begin| {
                let line = statement[..begin].rsplit('\n').next().unwrap_or_default().trim();
                line.is_empty() || line.starts_with("pub")
            });
            match begin {
                Some(begin) => {
                    rest.push_str(&statement[..begin]);
                    expand(statement[begin + 4..].trim_end_matches(';'), &mut used);
                }
                None => rest.push_str(statement),
            }
        }
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let words: Vec<&str> = rest.split(|c| !is_path(c)).filter(|word| !word.is_empty()).collect();
        let defining = ["fn", "struct", "enum", "trait", "type", "const", "static", "macro_rules"];
        let pairs = words.windows(2).filter(|pair| defining.contains(&pair[0]));
        Self {
            defined: pairs.map(|pair| pair[1].trim_end_matches(':').to_owned()).collect(),
            used,
            inline: words
                .iter()
                .filter(|word| word.starts_with("crate::"))
                .map(|&word| word.into())
                .collect(),
        }
    }

    /// Whether the file defines a name, or passes it on.
    fn has(&self, name: &str) -> bool {
        self.defined.contains(name) || self.used.iter().any(|used| used.rsplit("::").next() == Some(name))
    }
}

/// Appends the paths of a tree like `a::{b, c::{d, e as f}}`.
fn expand(tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((before, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        if !path.is_empty() {
            paths.push(path.trim_end_matches("::self").to_owned());
        }
        return;
    };
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    let (mut depth, mut begin) = (0, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inner[begin..at].trim();
                if !part.is_empty() {
                    expand(&format!("{before}{part}"), paths);
                }
                begin = at + 1;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(texts: &[(&str, &str)]) -> Files {
        let module = |name: &str| match name {
            "lib" => Module::new(),
            name => name.split("::").map(str::to_owned).collect(),
        };
        Files(texts.iter().map(|(name, text)| (module(name), Source::of(text))).collect())
    }

    #[test]
    fn workspace_has_no_large_circle() {
        check(&crate::root().unwrap()).unwrap();
    }

    #[test]
    fn circle_is_found_through_what_modules_pass_on() {
        let sound = [
            ("lib", "mod a; mod b; pub use a::{One, inner::Two}; pub use b::*;"),
            ("a", "pub mod inner;\npub struct One;\nuse crate::Three;"),
            ("a::inner", "pub struct Two; // crate::b"),
            ("b", "pub struct Three;\nfn three() -> crate::Two { }"),
        ];
        assert_eq!(files(&sound).circles(), Vec::<Vec<String>>::new());
        let inner = "pub struct Two;\npub(crate) use crate::a::{\n    One,\n};";
        let mut wrong = sound;
        wrong[2].1 = inner;
        assert_eq!(files(&wrong).circles(), [["a", "a::inner", "b"]]);
    }

    #[test]
    fn tests_and_what_a_file_shares_with_its_children_are_no_arrows() {
        let texts = [
            ("a", "mod inner;\nuse inner::Two;\npub struct One;"),
            ("a::inner", "use super::One;\npub struct Two;"),
            ("b", "pub struct Three;\n#[cfg(test)]\nmod tests {\n    use crate::c::Four;\n}"),
            ("c", "pub struct Four;\nuse crate::b::Three;"),
        ];
        assert_eq!(files(&texts).circles(), Vec::<Vec<String>>::new());
    }
}
