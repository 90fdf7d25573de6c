use tool_core::tool;

// An empty file beside the manifest of every trybuild project.
/// Get the weather.
#[tool(guide = ".lock")]
fn weather() {}

fn main() {}
