use tool_core::tool;

struct Weather;

#[tool]
impl Weather {
    /// Get the weather.
    fn get(&self) {}
}

fn main() {}
