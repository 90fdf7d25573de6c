use tool_core::tool_type;

#[tool_type]
struct Settings {
    #[serde(flatten)]
    #[setting(binds_secret)]
    relay: Relay,
}

#[tool_type]
struct Relay {
    place: String,
}

fn main() {}
