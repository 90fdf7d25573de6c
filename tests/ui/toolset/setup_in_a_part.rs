use tool_core::toolset;

struct Weather;

#[toolset(part)]
impl Weather {
    #[setup]
    async fn open(&self) {}

    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
