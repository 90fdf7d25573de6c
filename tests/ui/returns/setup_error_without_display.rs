use tool_core::toolset;

struct Failure;
struct Weather;

#[toolset]
impl Weather {
    #[setup]
    async fn open(&self) -> Result<(), Failure> {
        Err(Failure)
    }

    /// Get the forecast.
    #[tool]
    fn forecast(&self) {}
}

fn main() {}
