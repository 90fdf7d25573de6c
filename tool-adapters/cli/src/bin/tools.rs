//! The command line over the declarations of `--tools FILE`. No tools are linked into it.

use std::process::ExitCode;

fn main() -> ExitCode {
    tool_adapters_cli::main()
}
