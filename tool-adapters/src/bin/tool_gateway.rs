//! A gateway before MCP servers. See the chapter on the gateway in the book.

use mimalloc::MiMalloc;
use std::process::ExitCode;

// A call allocates about 430 times, on its way between its client and its server.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    tool_adapters::gateway::main()
}
