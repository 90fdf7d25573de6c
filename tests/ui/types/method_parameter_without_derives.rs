use std::time::Instant;
use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Get the weather.
    #[tool]
    async fn get(&self, city: String, at: Instant, #[arg(default = 3)] days: u32) -> String {
        format!("{city} {at:?} {days}")
    }
}

fn main() {}
