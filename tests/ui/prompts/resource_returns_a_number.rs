use tool_core::resource;

/// The number of cities.
#[resource(uri = "cities://count")]
fn count() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
