use tool_core::tool;

trait Weather {
    /// Get the weather.
    #[tool]
    fn get(city: String) -> String;
}

fn main() {}
