#![allow(unused_variables)]

use tool_core::jiff::civil;
use tool_core::{jiff, toolset};

struct Weather;

#[toolset(discover = false)]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self, days: Option<Vec<jiff::civil::Date>>) {}
}

fn today() -> civil::Date {
    civil::date(2026, 1, 31)
}

fn main() {
    today();
}
