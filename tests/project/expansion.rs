//! What the compiler makes of a toolset, with all macros expanded: what `cargo expand` shows.
//!
//! `UPDATE_EXPECT=1 cargo test -p tests --all-features --test project expansion` rewrites the golden file.

use expect_test::expect_file;
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

const SOURCE: &str = "tests/project/expansion/calendar.rs";

/// The lines of a toolset with one async tool of five parameters.
const LINES: usize = 119;

#[test]
fn expanded_toolset_is_short_and_parses() {
    let expanded = expand();
    let file = syn::parse_file(&expanded).expect("`cargo expand ITEM` parses the expansion");
    let shown = prettyplease::unparse(&file);

    for unreadable in ["&&", "super let", "if false", "never()"] {
        assert!(!shown.contains(unreadable), "{unreadable}\n{shown}");
    }
    let toolset = shown.find("/// Manages events.").expect("the toolset");
    let lines = shown[toolset..].lines().count();
    assert!(lines <= LINES, "{lines} lines");
    expect_file!["expansion/calendar.txt"].assert_eq(&shown);
}

/// Expands the source as `cargo expand` does.
fn expand() -> String {
    let compiled = newest_tool_core();
    let folder = compiled.parent().expect("a folder");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--edition", "2024", "--crate-type", "lib", SOURCE])
        .arg("-Zunpretty=expanded")
        .arg("--extern")
        .arg(format!("tool_core={}", compiled.display()))
        .arg("-L")
        .arg(format!("dependency={}", folder.display()))
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(super::root())
        .output()
        .expect("rustc runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).expect("a text")
}

/// Returns the `tool-core` that cargo compiled last, beside this test.
fn newest_tool_core() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let folder = test.parent().expect("a folder");
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let is_tool_core = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libtool_core-") && name.ends_with(".rlib")
    };
    let age = |path: &PathBuf| {
        path.metadata()
            .and_then(|data| data.modified())
            .unwrap_or(SystemTime::UNIX_EPOCH)
    };
    entries
        .map(|entry| entry.path())
        .filter(is_tool_core)
        .max_by_key(age)
        .expect("tool-core is compiled")
}
