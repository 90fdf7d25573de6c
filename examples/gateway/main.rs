//! A gateway before two servers: `cargo run --example gateway`. Without the feature `gateway` it starts itself with it, so that
//! the first build of the other examples needs no MCP.
//!
//! It starts a server of notes, which is this program, and two servers of npm if Node is there: the reference server, and one
//! of MCP Apps. A client then calls their tools through the gateway. The same files serve `tool-gateway --config mcp.json --policy policy.toml`.

#[cfg(feature = "gateway")]
mod client;
#[cfg(feature = "gateway")]
mod notes;
#[cfg(feature = "gateway")]
mod tour;

#[cfg(feature = "gateway")]
fn main() -> tour::Outcome<()> {
    tour::run()
}

#[cfg(not(feature = "gateway"))]
fn main() -> std::io::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut again = std::process::Command::new(cargo);
    let status = again
        .args([
            "run",
            "--package",
            "examples",
            "--example",
            "gateway",
            "--features",
            "gateway",
        ])
        .status()?;
    std::process::exit(status.code().unwrap_or(1));
}
