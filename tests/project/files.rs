//! Files with one job are short.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn all() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["tool-macros/src", "tool-core/src", "tool-adapters/src", "examples", "tests"] {
        sources(&super::root().join(folder), &mut found);
    }
    found
}

// STYLE
#[test]
fn no_source_file_has_more_than_three_hundred_lines() {
    let length = |path: &Path| fs::read_to_string(path).expect("text").lines().count();
    let long = all().into_iter().filter(|path| length(path) > 300).collect::<Vec<_>>();
    assert_eq!(long, Vec::<PathBuf>::new());
}

// STYLE
#[test]
fn every_module_says_what_it_is_for() {
    let silent = |path: &PathBuf| !fs::read_to_string(path).expect("text").starts_with("//!");
    // The cases of the ui tests are what a user would write, and the snapshots what the macros do.
    let example =
        |path: &PathBuf| path.components().any(|part| part.as_os_str() == "ui" || part.as_os_str() == "snapshots");
    let silent = all().into_iter().filter(|path| !example(path) && silent(path)).collect::<Vec<_>>();
    assert_eq!(silent, Vec::<PathBuf>::new());
}
