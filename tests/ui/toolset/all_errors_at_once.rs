#![allow(unused_variables)]

use tool_core::toolset;

struct Weather;

#[toolset(nme = "weather", prefix = "the weather")]
impl Weather {
    #[tool(category = "acton", timeout = "5")]
    fn get(&mut self, #[arg(range(1..=5))] city: String, (x, y): (u8, u8)) {}

    /// Get the forecast.
    #[tool(name = "get forecast")]
    fn forecast<T>(&self, #[arg(default = 30, range(1..=14))] days: u32, _: u8) {}

    /// Get the radar.
    #[tool]
    fn radar(&self, city: ) {}
}

fn main() {}
