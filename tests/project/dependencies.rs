//! Dependencies between the crates and folders.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const OURS: [&str; 3] = ["tool-core-macros", "tool-core", "tool-adapters"];

/// Returns the workspace crates that a crate depends on, without development dependencies.
fn ours(of: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(super::root())
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages
        .iter()
        .find(|package| package["name"] == of)
        .expect("the package");
    let dependencies = package["dependencies"]
        .as_array()
        .expect("dependencies")
        .iter();
    dependencies
        .filter(|dependency| dependency["kind"].is_null())
        .filter_map(|dependency| dependency["name"].as_str())
        .filter(|name| OURS.contains(name))
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_crate_depends_only_on_the_one_below() {
    assert_eq!(ours("tool-core-macros"), Vec::<String>::new());
    assert_eq!(ours("tool-core"), ["tool-core-macros"]);
    assert_eq!(ours("tool-adapters"), ["tool-core"]);
}

/// Returns the number of crates that `tool-core` brings into a program.
fn crates(features: &[&str]) -> usize {
    let tree = [
        "tree",
        "--package",
        "tool-core",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--no-dedupe",
        "--offline",
    ];
    let output = Command::new(env!("CARGO"))
        .args(tree)
        .args(features)
        .current_dir(super::root())
        .output()
        .expect("cargo runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let crates = text
        .lines()
        .filter(|line| !line.is_empty())
        .collect::<HashSet<_>>();
    // `tool-core` itself is not counted.
    crates.len().saturating_sub(1)
}

#[test]
fn a_program_with_default_features_has_80_crates_at_most() {
    let crates = crates(&[]);
    assert!((20..=80).contains(&crates), "{crates}");
}

#[test]
fn a_program_without_features_has_60_crates_at_most() {
    let crates = crates(&["--no-default-features"]);
    assert!((20..=60).contains(&crates), "{crates}");
}

/// Returns the text of a file, or of a folder's modules, without tests, which read and write golden files.
fn outside_tests(folder: &Path) -> String {
    if folder.is_file() {
        return before_tests(&fs::read_to_string(folder).expect("text")).to_owned();
    }
    let mut text = String::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.file_stem().and_then(|name| name.to_str()) {
            Some("tests") => {}
            _ if path.is_dir() => text += &outside_tests(&path),
            _ => text += before_tests(&fs::read_to_string(&path).unwrap_or_default()),
        }
    }
    text
}

/// Returns the lines before the tests of a file.
fn before_tests(text: &str) -> &str {
    let tests = text
        .match_indices("#[cfg(test)]\nmod ")
        .find(|(at, start)| {
            let name = text[at + start.len()..].lines().next().unwrap_or_default();
            name.ends_with("tests {")
        });
    tests.map_or(text, |(at, _)| &text[..at])
}

// P2
#[test]
fn providers_do_no_io() {
    let text = outside_tests(&super::root().join("tool-adapters/src/providers"));
    // Comments may mention it, and examples in the docs use it.
    let text = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    assert!(!text.is_empty());
    for io in [
        "tokio",
        "reqwest",
        "tungstenite",
        "rmcp",
        "std::net",
        "std::fs",
    ] {
        assert!(
            !text.contains(&format!("use {io}")) && !text.contains(&format!("{io}::")),
            "{io}"
        );
    }
}

// P3
#[test]
fn no_provider_is_named_outside_of_providers() {
    let adapters = super::root().join("tool-adapters/src");
    // `interop` converts types of other crates, which are named after providers.
    for folder in [
        "agent.rs",
        "cli",
        "oauth2",
        "stores",
        "telemetry",
        "transport",
    ] {
        let text = outside_tests(&adapters.join(folder));
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect::<Vec<_>>();
        for named in code
            .iter()
            .flat_map(|line| line.split("Provider::").skip(1))
        {
            let is_variant = named.starts_with(char::is_uppercase) && !named.starts_with("ALL");
            assert!(!is_variant, "{folder}: Provider::{named}");
        }
    }
}

#[test]
fn pinned_toolchain_is_the_rust_version() {
    let pinned =
        fs::read_to_string(super::root().join("rust-toolchain.toml")).expect("the toolchain");
    let version = concat!("channel = \"", env!("CARGO_PKG_RUST_VERSION"), ".");
    assert!(pinned.contains(version), "{version} is not in {pinned}");
}
