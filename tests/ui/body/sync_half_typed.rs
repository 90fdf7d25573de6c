use tool_core::tool;

/// Look something up.
#[tool]
fn look_up(what: String) -> usize {
    let length = what.len();
    what.
}

fn main() {}
