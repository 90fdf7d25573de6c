use tool_core::toolset;

struct Weather;

#[toolset(crate = tool_cor)]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
