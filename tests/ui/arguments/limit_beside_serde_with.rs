#![allow(unused_variables)]

use tool_core::tool;

mod hex {
    use tool_core::serde::{Deserialize, Deserializer};

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u8, D::Error> {
        u8::deserialize(from)
    }
}

/// Get the weather.
#[tool]
fn weather(#[arg(range(1..))] #[serde(with = "hex")] color: u8) {}

fn main() {}
