use tool_core::tool;

/// Look something up.
#[tool]
async fn look_up(what: String) {
    what.len()
}

fn main() {}
