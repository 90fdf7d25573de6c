use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Open it.
    #[tool]
    #[setup]
    fn open(&self) {}
}

fn main() {}
