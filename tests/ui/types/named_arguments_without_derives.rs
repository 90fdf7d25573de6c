#![allow(unused_variables)]

use tool_core::tool;

pub struct City {
    name: String,
}

/// Get the weather.
#[tool(args = WeatherArgs)]
pub fn weather(city: City, days: u8) {}

fn main() {}
