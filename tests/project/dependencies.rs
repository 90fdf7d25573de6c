//! Dependencies between the crates and folders.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A package and those that it depends on.
pub type Arrows = (&'static str, &'static [&'static str]);

/// The packages from the bottom. Each depends on those that are named beside it, and on none that comes after it.
pub const ARROWS: [Arrows; 17] = [
    ("tool-core-macros", &[]),
    ("tool-core", &["tool-core-macros"]),
    ("tool-adapters-providers", &["tool-core"]),
    ("tool-adapters-stores", &["tool-core"]),
    (
        "tool-adapters-http",
        &["tool-adapters-providers", "tool-core"],
    ),
    (
        "tool-adapters-interop",
        &["tool-adapters-http", "tool-adapters-providers", "tool-core"],
    ),
    (
        "tool-adapters-models",
        &["tool-adapters-http", "tool-adapters-providers", "tool-core"],
    ),
    (
        "tool-adapters-telemetry",
        &["tool-adapters-http", "tool-adapters-providers", "tool-core"],
    ),
    ("tool-adapters-dbos", &["tool-adapters-models", "tool-core"]),
    (
        "tool-adapters-restate",
        &["tool-adapters-models", "tool-core"],
    ),
    ("tool-adapters-agents", &["tool-adapters-http", "tool-core"]),
    (
        "tool-adapters-openapi",
        &["tool-adapters-http", "tool-core"],
    ),
    (
        "tool-adapters-mcp",
        &[
            "tool-adapters-agents",
            "tool-adapters-http",
            "tool-adapters-providers",
            "tool-core",
        ],
    ),
    (
        "tool-adapters-inspector",
        &[
            "tool-adapters-http",
            "tool-adapters-providers",
            "tool-adapters-telemetry",
            "tool-core",
        ],
    ),
    (
        "tool-adapters-cli",
        &[
            "tool-adapters-http",
            "tool-adapters-inspector",
            "tool-adapters-mcp",
            "tool-adapters-openapi",
            "tool-adapters-providers",
            "tool-core",
        ],
    ),
    (
        "tool-adapters-gateway",
        &[
            "tool-adapters-http",
            "tool-adapters-inspector",
            "tool-adapters-mcp",
            "tool-adapters-providers",
            "tool-adapters-stores",
            "tool-adapters-telemetry",
            "tool-core",
        ],
    ),
    (
        "tool-adapters",
        &[
            "tool-adapters-agents",
            "tool-adapters-cli",
            "tool-adapters-dbos",
            "tool-adapters-gateway",
            "tool-adapters-http",
            "tool-adapters-inspector",
            "tool-adapters-interop",
            "tool-adapters-mcp",
            "tool-adapters-models",
            "tool-adapters-openapi",
            "tool-adapters-providers",
            "tool-adapters-restate",
            "tool-adapters-stores",
            "tool-adapters-telemetry",
        ],
    ),
];

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
        .filter(|name| ARROWS.iter().any(|(package, _)| package == name))
        .map(str::to_owned)
        .collect()
}

#[test]
fn packages_depend_only_on_those_below() {
    let mut below = Vec::new();
    for (package, expected) in ARROWS {
        let mut found = ours(package);
        found.sort();
        assert_eq!(found, expected, "{package}");
        assert!(
            expected.iter().all(|needed| below.contains(needed)),
            "{package}"
        );
        below.push(package);
    }
}

/// Returns the number of crates that a package brings into a program.
fn crates(package: &str, features: &[&str]) -> usize {
    let tree = [
        "tree",
        "--package",
        package,
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
    // The package itself is not counted.
    crates.len().saturating_sub(1)
}

#[test]
fn a_program_with_default_features_has_80_crates_at_most() {
    let crates = crates("tool-core", &[]);
    assert!((20..=80).contains(&crates), "{crates}");
}

#[test]
fn a_program_without_features_has_60_crates_at_most() {
    let crates = crates("tool-core", &["--no-default-features"]);
    assert!((20..=60).contains(&crates), "{crates}");
}

/// Without a package, cargo unites the features that the tests of all packages need, and builds twice as many.
#[test]
fn first_program_of_readme_has_180_crates_at_most() {
    let readme = fs::read_to_string(super::root().join("README.md")).expect("the README");
    let command = readme
        .lines()
        .find_map(|line| line.strip_prefix("$ cargo run -p "))
        .expect("a command that names its package");
    let package = command.split(' ').next().expect("a package");
    let crates = crates(package, &[]);
    assert!((20..=180).contains(&crates), "{package}: {crates}");
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
    let text = outside_tests(&super::root().join("tool-adapters/providers/src"));
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
    let adapters = super::root().join("tool-adapters");
    // `interop` converts types of other crates, which are named after providers.
    for folder in ["agents", "cli", "models", "stores", "telemetry"] {
        let text = outside_tests(&adapters.join(folder).join("src"));
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
