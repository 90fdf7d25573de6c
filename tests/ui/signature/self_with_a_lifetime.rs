use tool_core::toolset;

struct Sum(i64);

#[toolset]
impl Sum {
    /// Read the sum.
    #[tool]
    fn total(&'static self) -> i64 {
        self.0
    }
}

fn main() {}
