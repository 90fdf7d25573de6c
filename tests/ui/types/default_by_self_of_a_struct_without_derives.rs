#![allow(unused_variables)]

use tool_core::toolset;

#[derive(Clone)]
struct City {
    name: String,
}

struct Weather {
    home: City,
}

#[toolset(discover = false)]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self, #[arg(default = self.home.clone())] city: City) {}
}

fn main() {}
