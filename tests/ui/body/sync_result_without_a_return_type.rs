use tool_core::tool;

/// Look something up.
#[tool]
fn look_up(what: String) {
    what.len()
}

fn main() {}
