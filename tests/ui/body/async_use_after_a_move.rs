use tool_core::tool;

/// Look something up.
#[tool]
async fn look_up(what: String) -> usize {
    drop(what);
    std::future::ready(()).await;
    what.len()
}

fn main() {}
