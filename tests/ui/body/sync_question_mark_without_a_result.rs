use tool_core::tool;

/// Look something up.
#[tool]
fn look_up(what: String) -> u8 {
    what.parse()?
}

fn main() {}
