//! A gateway before MCP servers. See the chapter on the gateway in the book.

use std::process::ExitCode;

fn main() -> ExitCode {
    tool_adapters_gateway::main()
}
