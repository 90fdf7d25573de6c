use tool_core::tool;

/// Look something up.
#[tool]
async fn look_up(what: String) -> Result<u8, std::fmt::Error> {
    let number: u8 = what.parse()?;
    Ok(number)
}

fn main() {}
