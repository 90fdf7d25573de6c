use std::collections::BTreeMap;
use tool_core::tool_type;

#[tool_type]
#[setting(binds_secret)]
struct Settings {
    #[serde(flatten)]
    #[setting(binds_secret)]
    relay: Relay,
    #[setting(binds_secret = false)]
    #[schemars(flatten)]
    others: BTreeMap<String, String>,
}

#[tool_type]
enum Relay {
    #[setting(binds_secret)]
    Own { place: String },
}

fn main() {}
