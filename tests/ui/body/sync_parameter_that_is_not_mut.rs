use tool_core::tool;

/// Look something up.
#[tool]
fn look_up(what: String) -> String {
    what.push('x');
    what
}

fn main() {}
