use tool_core::toolset;

struct Weather<'a>(&'a str);

#[toolset]
impl Weather<'_> {
    /// Get the weather.
    #[tool]
    fn get(&self) -> String {
        self.0.to_owned()
    }
}

fn main() {}
