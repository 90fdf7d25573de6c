use tool_core::toolset;

struct Failure;
struct Weather;

#[toolset]
impl Weather {
    /// Get the forecast.
    #[tool]
    async fn forecast(&self, city: &str) -> Result<String, Failure> {
        let _ = city;
        Err(Failure)
    }
}

fn main() {}
