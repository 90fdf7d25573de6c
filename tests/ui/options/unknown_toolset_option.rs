use tool_core::toolset;

struct Weather;

#[toolset(nme = "weather")]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
