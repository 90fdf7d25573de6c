//! Cargo, as a test runs it.

use std::process::Command;

/// The variables with which cargo describes a test's package to it.
const OF_A_PACKAGE: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

/// Returns a command of cargo, without what describes this test's package: some build scripts read the same variables, so they
/// would run again, and all that depends on them would be built again.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else {
            continue;
        };
        if OF_A_PACKAGE.iter().any(|start| text.starts_with(start)) {
            command.env_remove(text);
        }
    }
    command
}
