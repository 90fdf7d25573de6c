#![allow(unused_imports)]

use tool_core::tool_type;

mod facade {
    pub use tool_core::*;
}

macro_rules! event {
    ($name:ident) => {
        #[tool_type(crate = $crate::facade)]
        struct $name {
            title: String,
        }
    };
}

event!(Event);

fn main() {}
