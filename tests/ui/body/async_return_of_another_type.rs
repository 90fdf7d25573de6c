use tool_core::tool;

/// Look something up.
#[tool]
async fn look_up(what: String) -> Result<String, String> {
    if what.is_empty() {
        return None;
    }
    Ok(what)
}

fn main() {}
