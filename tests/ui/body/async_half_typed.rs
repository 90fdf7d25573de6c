use tool_core::tool;

/// Look something up.
#[tool]
async fn look_up(what: String) -> usize {
    let length = what.len();
    what.
}

fn main() {}
