use std::rc::Rc;
use tool_core::tool;

/// Get the forecast.
#[tool]
async fn forecast() -> usize {
    let shared = Rc::new(5);
    std::future::ready(()).await;
    *shared
}

fn main() {}
