use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}

    /// Get the forecast.
    #[cfg_attr(all(), tool)]
    fn forecast(&self) {}
}

fn main() {}
