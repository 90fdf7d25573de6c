#![allow(unused_variables)]

use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    #[setup]
    fn open(&self, city: String) {}

    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
