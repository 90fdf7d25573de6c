//! The tests that `docs/security.md` names exist.

use std::fs;

/// Returns the parts in backquotes of the form `folder/file.rs::name`.
fn named(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| code.contains(".rs::"))
        .filter_map(|code| code.split_once("::"))
}

#[test]
fn every_test_of_the_table_of_attacks_exists() {
    let root = super::root();
    let table = fs::read_to_string(root.join("docs/security.md")).expect("the table");
    let all = named(&table).collect::<Vec<_>>();
    assert!(all.len() > 80, "only {} tests were found", all.len());
    let is_missing = |(path, name): &(&str, &str)| {
        let text = fs::read_to_string(root.join(path)).unwrap_or_default();
        !text.contains(&format!("fn {name}(")) && !text.contains(&format!("fn {name}<"))
    };
    let missing = all
        .into_iter()
        .filter(is_missing)
        .map(|(path, name)| format!("{path}::{name}"))
        .collect::<Vec<_>>();
    assert!(
        missing.is_empty(),
        "docs/security.md names tests that do not exist:\n{}",
        missing.join("\n")
    );
}
