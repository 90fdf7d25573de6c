use std::sync::Arc;
use tool_core::toolset;

struct Sum(i64);

#[toolset]
impl Sum {
    /// Read the sum.
    #[tool]
    fn total(self: Arc<Self>) -> i64 {
        self.0
    }
}

fn main() {}
