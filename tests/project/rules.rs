//! The rules that tests cite are in the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns true for ids such as `L8` and `R-B2`.
fn is_id(word: &str) -> bool {
    let (letter, number) = match word.strip_prefix("R-") {
        Some(rest) => rest.split_at_checked(1),
        None => word
            .split_at_checked(1)
            .filter(|(letter, _)| "DLVACSTPM".contains(*letter)),
    }
    .unwrap_or_default();
    letter.chars().all(|letter| letter.is_ascii_uppercase())
        && (1..=2).contains(&number.len())
        && number.chars().all(|digit| digit.is_ascii_digit())
}

/// Returns the ids at the beginning of a comment, as in `// L8, R-B2: each of them`.
fn cited(line: &str) -> impl Iterator<Item = &str> {
    let comment = line.trim_start().strip_prefix("// ").unwrap_or_default();
    let ids = comment.split(':').next().unwrap_or_default();
    ids.split(", ").take_while(|word| is_id(word))
}

#[test]
fn every_cited_rule_is_in_the_rules() {
    let rules = fs::read_to_string(super::root().join("docs/rules.md")).expect("the rules");
    let listed = rules
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split(' ').next())
        .filter(|id| is_id(id));
    let listed = listed.collect::<BTreeSet<_>>();
    assert!(listed.len() > 100, "the list was not read: {listed:?}");
    let mut files = Vec::new();
    for folder in [
        "tool-core",
        "tool-adapters",
        "tool-macros",
        "examples",
        "tests",
    ] {
        rust_files(&super::root().join(folder), &mut files);
    }
    let mut citations = 0;
    let mut unknown = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).expect("text");
        for (line, id) in text
            .lines()
            .enumerate()
            .flat_map(|(at, line)| cited(line).map(move |id| (at + 1, id)))
        {
            citations += 1;
            if !listed.contains(id) {
                unknown.push(format!("{}:{line}: {id}", path.display()));
            }
        }
    }
    assert!(citations > 500, "only {citations} citations were found");
    assert!(
        unknown.is_empty(),
        "not in docs/rules.md:\n{}",
        unknown.join("\n")
    );
}

#[test]
fn ids_are_recognised() {
    assert!(["L8", "R-B2", "S12", "P1", "M3"].into_iter().all(is_id));
    assert!(
        ["R", "L", "R-2", "RFC", "L123", "Q1", "L8a", ""]
            .into_iter()
            .all(|word| !is_id(word))
    );
    assert_eq!(
        cited("    // L8, R-B2: each of them").collect::<Vec<_>>(),
        ["L8", "R-B2"]
    );
}
