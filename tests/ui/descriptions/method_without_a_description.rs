use tool_core::toolset;

struct Weather;

/// The weather.
#[toolset]
impl Weather {
    #[tool(name = "get_weather")]
    async fn get(&self) {}
}

fn main() {}
