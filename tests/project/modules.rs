//! The layers of each crate, and cycles between its files.

use super::dependencies::ARROWS;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Top-level modules from the bottom. A module imports from those before it only.
const CORE: &[&str] = &[
    "text",
    "time",
    "json",
    "schema",
    "arguments",
    "trace",
    "call",
    "tool",
    "registry",
    "describe",
    "session",
    "agents",
    "testing",
];

/// Returns the folders of the packages of the adapters.
fn adapters() -> impl Iterator<Item = String> {
    ARROWS
        .iter()
        .filter_map(|(package, _)| package.strip_prefix("tool-adapters-"))
        .map(|part| format!("tool-adapters/{part}"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            // The workspace of the peers builds into its own folder.
            if !path.ends_with("target") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the module path and the code of each source file outside of tests.
fn modules(krate: &str) -> BTreeMap<String, String> {
    let src = super::root().join(krate).join("src");
    let mut found = Vec::new();
    sources(&src, &mut found);
    let module = |path: &PathBuf| {
        let name = path
            .strip_prefix(&src)
            .expect("inside")
            .with_extension("")
            .to_string_lossy()
            .replace('/', "::");
        let name = name.strip_suffix("::mod").unwrap_or(&name).to_owned();
        let in_tests = name.split("::").any(|part| part == "tests");
        (!in_tests).then(|| (name, code(&fs::read_to_string(path).expect("text"))))
    };
    found.iter().filter_map(module).collect()
}

/// Returns the lines before the tests of a file, without comments.
fn code(text: &str) -> String {
    let lines = text.lines().take_while(|line| {
        !line.starts_with("#[cfg(test)]\nmod tests {") && *line != "mod tests {"
    });
    lines
        .filter(|line| !line.trim_start().starts_with("//"))
        .fold(String::new(), |all, line| all + line + "\n")
}

/// Returns all module paths after `crate::`, with nested imports expanded.
fn imports(code: &str) -> Vec<String> {
    let mut all = paths_after("crate::", code);
    // What a build for tests imports is no part of the house.
    all.retain(|path| !path.split("::").any(|part| part == "tests"));
    all
}

/// Returns all paths after a crate's name, with nested imports expanded.
fn paths_after(krate: &str, code: &str) -> Vec<String> {
    code.match_indices(krate)
        .filter(|(at, _)| !code[..*at].ends_with(['$', '_']))
        .flat_map(|(at, found)| paths("", &code[at + found.len()..]))
        .collect()
}

fn paths(before: &str, rest: &str) -> Vec<String> {
    if let Some(inside) = rest.strip_prefix('{') {
        let (mut depth, mut start, mut all) = (1, 0, Vec::new());
        for (at, letter) in inside.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => {
                    all.extend(paths(before, inside[start..at].trim()));
                    start = at + 1;
                }
                _ => {}
            }
            if depth == 0 {
                // Nothing follows a comma at the end.
                let last = inside[start..at].trim();
                if !last.is_empty() {
                    all.extend(paths(before, last));
                }
                break;
            }
        }
        return all;
    }
    let name = rest
        .split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .next()
        .unwrap_or_default();
    let path = if before.is_empty() {
        name.to_owned()
    } else {
        format!("{before}::{name}")
    };
    match rest[name.len()..].strip_prefix("::") {
        Some(more) if !name.is_empty() => paths(&path, more),
        _ => vec![path],
    }
}

fn top(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

/// Returns the imports of modules that are not in a lower layer.
fn upward(krate: &str, layers: &[&str]) -> Vec<String> {
    let level = |module: &str| layers.iter().position(|layer| *layer == top(module));
    let mut wrong = BTreeSet::new();
    for (module, code) in modules(krate) {
        let Some(here) = level(&module) else { continue };
        for path in imports(&code) {
            if level(&path).is_some_and(|there| there > here) || top(&path) == "__private" {
                wrong.insert(format!("{module} -> {path}"));
            }
        }
    }
    wrong.into_iter().collect()
}

// P1
#[test]
fn core_modules_import_from_lower_layers_only() {
    assert_eq!(upward("tool-core", CORE), Vec::<String>::new());
}

// P1
#[test]
fn every_top_level_module_is_a_layer() {
    let found = modules("tool-core")
        .into_keys()
        .map(|module| top(&module).to_owned())
        .collect::<BTreeSet<_>>();
    let known = CORE
        .iter()
        .copied()
        .chain(["lib", "__private"])
        .map(str::to_owned)
        .collect();
    let unknown = found.difference(&known).collect::<Vec<_>>();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Returns the groups of files that import each other in a loop.
fn cycles(krate: &str) -> Vec<Vec<String>> {
    let modules = modules(krate);
    // A path leads to the file of its longest prefix. A facade counts as a file.
    let file = |path: &str| {
        let mut path = path;
        loop {
            if modules.contains_key(path) {
                return Some(path.to_owned());
            }
            path = path.rsplit_once("::")?.0;
        }
    };
    let edges = modules
        .iter()
        .map(|(module, code)| {
            let imports = imports(code);
            let targets = imports
                .iter()
                .filter_map(|path| file(path))
                .filter(|target| target != module);
            (module.clone(), targets.collect::<BTreeSet<_>>())
        })
        .collect::<BTreeMap<_, _>>();
    let reach = |from: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(module) = next.pop() {
            for target in edges.get(&module).into_iter().flatten() {
                if seen.insert(target.clone()) {
                    next.push(target.clone());
                }
            }
        }
        seen
    };
    let reached = modules
        .keys()
        .map(|module| (module.clone(), reach(module)))
        .collect::<BTreeMap<_, _>>();
    let mut groups = BTreeSet::new();
    for (module, targets) in &reached {
        let group = targets
            .iter()
            .filter(|other| reached[*other].contains(module))
            .cloned()
            .collect::<Vec<_>>();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

// P1
#[test]
fn files_of_core_and_macros_do_not_import_each_other() {
    let found = ["tool-core", "tool-macros"].into_iter().flat_map(cycles);
    assert_eq!(found.collect::<Vec<_>>(), Vec::<Vec<String>>::new());
}

// P1
#[test]
fn at_most_three_groups_of_adapter_files_import_each_other() {
    let found = adapters()
        .flat_map(|folder| cycles(&folder))
        .collect::<Vec<_>>();
    assert!(found.len() <= 3, "{} groups: {found:#?}", found.len());
}

/// The locks of the standard library. Ours are those of `parking_lot`, which a panic does not poison.
const STD_LOCKS: &[&str] = &["sync::Mutex", "sync::RwLock", "sync::Condvar"];

// P1
#[test]
fn libraries_use_the_locks_of_parking_lot_only() {
    let packages = ["tool-core".to_owned()].into_iter().chain(adapters());
    let mut found = Vec::new();
    for package in packages {
        for (module, code) in modules(&package) {
            let paths = paths_after("std::", &code);
            if paths.iter().any(|path| STD_LOCKS.contains(&&**path)) {
                found.push(format!("{package}: {module}"));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

// P4
#[test]
fn every_module_begins_with_documentation() {
    let mut found = Vec::new();
    for folder in [
        "tool-macros/src",
        "tool-core/src",
        "tool-adapters",
        "examples",
        "tests",
    ] {
        sources(&super::root().join(folder), &mut found);
    }
    let silent = |path: &PathBuf| !fs::read_to_string(path).expect("text").starts_with("//!");
    // The cases of the ui tests are user code, and the snapshots are expansions.
    let example = |path: &PathBuf| {
        path.components()
            .any(|part| part.as_os_str() == "ui" || part.as_os_str() == "snapshots")
    };
    let silent = found
        .into_iter()
        .filter(|path| !example(path) && silent(path))
        .collect::<Vec<_>>();
    assert_eq!(silent, Vec::<PathBuf>::new());
}
