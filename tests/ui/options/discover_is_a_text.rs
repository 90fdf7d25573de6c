use tool_core::toolset;

struct Weather;

#[toolset(discover = "no")]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
