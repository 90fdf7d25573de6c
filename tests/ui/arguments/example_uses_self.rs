use tool_core::toolset;

struct Weather {
    days: u32,
}

#[toolset]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self, #[arg(example = self.days)] days: u32) -> u32 {
        days
    }
}

fn main() {}
