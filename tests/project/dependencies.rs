//! Who depends on whom. DESIGN 2

use std::fs;
use std::path::Path;
use std::process::Command;

const OURS: [&str; 3] = ["tool-macros", "tool-core", "tool-adapters"];

/// The crates of ours that a crate of ours depends on, development aside.
fn ours(of: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(super::root())
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages.iter().find(|package| package["name"] == of).expect("the package");
    let dependencies = package["dependencies"].as_array().expect("dependencies").iter();
    dependencies
        .filter(|dependency| dependency["kind"].is_null())
        .filter_map(|dependency| dependency["name"].as_str())
        .filter(|name| OURS.contains(name))
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_crate_depends_only_on_the_one_below() {
    assert_eq!(ours("tool-macros"), Vec::<String>::new());
    assert_eq!(ours("tool-core"), ["tool-macros"]);
    assert_eq!(ours("tool-adapters"), ["tool-core"]);
}

fn text_of(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        text += &if path.is_dir() { text_of(&path) } else { fs::read_to_string(&path).unwrap_or_default() };
    }
    text
}

#[test]
fn tools_and_calls_know_nothing_of_the_runtime() {
    let core = super::root().join("tool-core/src");
    for folder in ["tool", "call", "json", "schema", "arguments", "response", "trace"] {
        assert!(!text_of(&core.join(folder)).contains("crate::runtime"), "{folder}");
    }
}

#[test]
fn the_decoder_and_the_schemas_know_nothing_of_tools() {
    let core = super::root().join("tool-core/src");
    for folder in ["json", "schema", "arguments"] {
        let text = text_of(&core.join(folder));
        for above in ["crate::tool", "crate::call", "crate::context", "crate::run", "crate::response"] {
            assert!(!text.contains(above), "{folder} uses {above}");
        }
    }
}

/// The text of a folder's modules, but not of their tests: golden files are read and written there.
fn outside_tests(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.file_stem().and_then(|name| name.to_str()) {
            Some("tests") => {}
            _ if path.is_dir() => text += &outside_tests(&path),
            _ => text += &fs::read_to_string(&path).unwrap_or_default(),
        }
    }
    text
}

// DESIGN 2: protocol codecs are pure, transports move bytes, and neither imports the other way.
#[test]
fn what_translates_for_a_provider_does_no_io() {
    let adapters = super::root().join("tool-adapters/src");
    let io = [
        "tokio",
        "reqwest",
        "tungstenite",
        "rmcp",
        "std::net",
        "std::fs",
        "crate::http",
        "crate::websocket",
        "crate::mcp",
    ];
    for folder in ["protocol", "declare", "dialect", "schema", "provider_tools", "check"] {
        let text = outside_tests(&adapters.join(folder));
        assert!(!text.is_empty(), "{folder}");
        for moves_bytes in io {
            // In words it may be spoken of.
            assert!(
                !text.contains(&format!("use {moves_bytes}")) && !text.contains(&format!("{moves_bytes}::")),
                "{folder} uses {moves_bytes}"
            );
        }
    }
}

// DESIGN 2: what moves bytes knows protocols by their trait, and no provider's codec.
#[test]
fn transports_know_no_codec() {
    let adapters = super::root().join("tool-adapters/src");
    for folder in ["http", "websocket", "agent"] {
        let text = text_of(&adapters.join(folder));
        for codec in
            ["anthropic", "gemini", "openai_chat", "openai_responses", "bedrock", "mistral", "cohere", "ollama"]
        {
            assert!(!text.contains(&format!("protocol::{codec}")), "{folder} uses {codec}");
        }
    }
}
