use tool_core::toolset;

struct Sum(i64);

#[toolset]
impl Sum {
    /// End the sum.
    #[tool]
    fn total(self) -> i64 {
        self.0
    }
}

fn main() {}
