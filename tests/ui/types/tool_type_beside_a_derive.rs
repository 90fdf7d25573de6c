use tool_core::tool_type;

#[tool_type]
#[derive(Debug, serde::Deserialize)]
struct Event {
    title: String,
}

fn main() {}
