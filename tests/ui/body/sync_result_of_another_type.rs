use tool_core::tool;

/// Look something up.
#[tool]
fn look_up(what: String) -> Result<String, String> {
    what
}

fn main() {}
