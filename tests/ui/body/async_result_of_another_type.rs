use tool_core::tool;

/// Look something up.
#[tool]
async fn look_up(what: String) -> Result<String, String> {
    std::future::ready(()).await;
    what
}

fn main() {}
