use tool_core::{ToolError, tool};

/// Look something up.
#[tool]
async fn look_up(what: String) -> Result<u8, ToolError> {
    let number: u8 = what.parse()?;
    Ok(number)
}

fn main() {}
