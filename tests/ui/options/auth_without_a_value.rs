use tool_core::toolset;

struct Weather;

#[toolset(auth)]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
