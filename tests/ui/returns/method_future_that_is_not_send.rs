use std::sync::Mutex;
use tool_core::toolset;

struct Counter(Mutex<u32>);

#[toolset]
impl Counter {
    /// Count.
    #[tool]
    async fn count(&self) -> u32 {
        let mut count = self.0.lock().unwrap();
        std::future::ready(()).await;
        *count += 1;
        *count
    }
}

fn main() {}
