use tool_core::tool;

/// Look something up.
#[tool]
async fn look_up(what: String) -> String {
    std::future::ready(what).await;
}

fn main() {}
