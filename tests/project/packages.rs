//! The packages as they are published: what they say about themselves, what they contain, and which Rust they need.

use super::dependencies::ARROWS;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The Rust of the published packages.
const RUST: Version = (1, 89);

type Version = (u32, u32);

/// Returns what a command prints in the root of the project.
fn printed(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(super::root())
        .output()
        .expect("it runs");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

fn cargo(arguments: &[&str]) -> String {
    printed(env!("CARGO"), &[arguments, &["--offline"]].concat())
}

/// Returns the packages of `cargo metadata`.
fn packages(arguments: &[&str]) -> Vec<Value> {
    let text = cargo(&[&["metadata", "--format-version", "1"], arguments].concat());
    let metadata = serde_json::from_str::<Value>(&text).expect("metadata");
    metadata["packages"].as_array().expect("packages").clone()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().expect("a name")
}

/// Returns the manifests of the packages that can be published.
fn published() -> Vec<Value> {
    packages(&["--no-deps"])
        .into_iter()
        .filter(|package| package["publish"].is_null())
        .collect()
}

/// Reads `1.89` and `1.89.0`.
fn version(text: &str) -> Version {
    let mut parts = text.split('.').map(|part| part.parse().expect("a number"));
    (
        parts.next().expect("a major version"),
        parts.next().unwrap_or(0),
    )
}

#[test]
fn only_the_libraries_are_published() {
    let mut names = published()
        .iter()
        .map(|package| name(package).to_owned())
        .collect::<Vec<_>>();
    names.sort();
    let mut libraries = ARROWS.map(|(package, _)| package);
    libraries.sort_unstable();
    assert_eq!(names, libraries);
}

#[test]
fn published_packages_describe_themselves() {
    for package in published() {
        let name = name(&package);
        for text in ["description", "readme"] {
            assert!(
                package[text].as_str().is_some_and(|text| !text.is_empty()),
                "{name}: {text}"
            );
        }
        for list in ["categories", "keywords"] {
            assert!(
                package[list]
                    .as_array()
                    .is_some_and(|list| (1..=5).contains(&list.len())),
                "{name}: {list}"
            );
        }
        assert_eq!(package["license"], "MIT OR Apache-2.0", "{name}");
        let rust = match name {
            // As the crates of the engines, without which they are nothing.
            "tool-adapters-dbos" => (1, 95),
            "tool-adapters-restate" => (1, 90),
            _ => RUST,
        };
        let declared = version(package["rust_version"].as_str().expect("a Rust"));
        assert_eq!(declared, rust, "{name}");
    }
}

#[test]
fn published_packages_contain_both_licences() {
    let texts = ["LICENSE-MIT", "LICENSE-APACHE"]
        .map(|file| fs::read(super::root().join(file)).expect("a licence"));
    for package in published() {
        let files = cargo(&[
            "package",
            "--list",
            "--allow-dirty",
            "--package",
            name(&package),
        ]);
        let folder = Path::new(package["manifest_path"].as_str().expect("a path"))
            .parent()
            .expect("a folder");
        for (file, text) in ["LICENSE-MIT", "LICENSE-APACHE"].iter().zip(&texts) {
            assert!(
                files.lines().any(|line| line == *file),
                "{}: {file}",
                name(&package)
            );
            assert!(
                fs::read(folder.join(file)).is_ok_and(|found| found == *text),
                "{}: {file}",
                name(&package)
            );
        }
        assert!(
            files.lines().any(|line| line == "README.md"),
            "{}: README.md",
            name(&package)
        );
        // Those who build a package do not run its tests, which need the rest of the project.
        assert!(
            !files.lines().any(|line| line.starts_with("tests/")),
            "{}: tests",
            name(&package)
        );
    }
}

#[test]
fn our_packages_need_each_other_in_one_version() {
    for package in published() {
        let all = package["dependencies"]
            .as_array()
            .expect("dependencies")
            .iter();
        let ours = all.filter(|dependency| {
            ARROWS
                .iter()
                .any(|(package, _)| *package == name(dependency))
        });
        for dependency in ours.filter(|dependency| dependency["kind"].is_null()) {
            let exact = format!("={}", package["version"].as_str().expect("a version"));
            assert_eq!(
                dependency["req"],
                exact,
                "{} of {}",
                name(dependency),
                name(&package)
            );
        }
    }
}

/// Returns the Rust that a feature of the adapters needs, by what its dependencies say.
fn needed(feature: &str, rust: &BTreeMap<(String, String), Version>) -> Version {
    let of = ["tree", "--package", "tool-adapters", "--features", feature];
    let tree = cargo(
        &[
            &of[..],
            &["--edges", "normal,build", "--prefix", "none", "--no-dedupe"],
        ]
        .concat(),
    );
    let crates = tree.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((
            words.next()?.to_owned(),
            words.next()?.strip_prefix('v')?.to_owned(),
        ))
    });
    crates
        .filter_map(|key| rust.get(&key).copied())
        .max()
        .unwrap_or_default()
        .max(RUST)
}

/// Returns the Rust of each feature in the table of the adapters' docs.
fn documented() -> BTreeMap<String, Version> {
    let text =
        fs::read_to_string(super::root().join("tool-adapters/src/lib.rs")).expect("the docs");
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | `"));
    rows.map(|row| {
        let (feature, rest) = row.split_once('`').expect("a feature");
        (
            feature.to_owned(),
            version(
                rest.trim_end_matches(" |")
                    .rsplit("| ")
                    .next()
                    .expect("a Rust"),
            ),
        )
    })
    .collect()
}

/// Returns the features of the adapters.
fn features() -> BTreeSet<String> {
    let adapters = published()
        .into_iter()
        .find(|package| name(package) == "tool-adapters")
        .expect("the adapters");
    adapters["features"]
        .as_object()
        .expect("features")
        .keys()
        .cloned()
        .collect()
}

#[test]
fn docs_name_the_rust_that_each_feature_needs() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let about = printed(&rustc, &["-vV"]);
    let host = about
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("a host");
    let known = packages(&["--all-features", "--filter-platform", host])
        .into_iter()
        .filter_map(|package| {
            let rust = version(package["rust_version"].as_str()?);
            Some((
                (
                    name(&package).to_owned(),
                    package["version"].as_str()?.to_owned(),
                ),
                rust,
            ))
        });
    let known = known.collect::<BTreeMap<_, _>>();
    assert!(
        known.len() > 100,
        "only {} packages name their Rust",
        known.len()
    );
    let found = features()
        .into_iter()
        .map(|feature| (needed(&feature, &known), feature));
    assert_eq!(
        documented(),
        found
            .map(|(rust, feature)| (feature, rust))
            .collect::<BTreeMap<_, _>>()
    );
}

#[test]
fn gate_builds_with_the_oldest_rust_what_can_be() {
    let gate = fs::read_to_string(super::root().join(".ci/run")).expect("the gate");
    let line = gate
        .lines()
        .find_map(|line| line.strip_prefix("oldest_features="))
        .expect("the features");
    let built = line.split(',').map(str::to_owned).collect::<BTreeSet<_>>();
    let can_be = documented()
        .into_iter()
        .filter(|(_, rust)| *rust == RUST)
        .map(|(feature, _)| feature);
    assert_eq!(built, can_be.collect::<BTreeSet<_>>());
}
