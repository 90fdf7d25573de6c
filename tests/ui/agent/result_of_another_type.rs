use tool_core::agent;

#[agent("researcher")]
async fn research(topic: &str) -> Result<String, String> {
    let found = topic.to_owned();
    found
}

fn main() {}
