use tool_core::toolset;

struct Weather;

#[toolset(name = "x", prefix, name = "y")]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
