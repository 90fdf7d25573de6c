use tool_core::tool_type;

#[tool_type]
#[setting(binds_secret)]
struct Settings {
    place: String,
}

fn main() {}
