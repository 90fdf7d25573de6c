use tool_core::tool;

/// Look something up.
#[tool]
fn look_up(what: String) -> String {
    drop(what);
}

fn main() {}
