use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Not a tool.
    fn helper(&self) {}
}

fn main() {
    Weather.helper();
}
