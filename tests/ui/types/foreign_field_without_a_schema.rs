use tool_core::jiff::Zoned;
use tool_core::tool_type;

#[tool_type]
struct Event {
    title: String,
    at: Option<Zoned>,
}

fn main() {}
