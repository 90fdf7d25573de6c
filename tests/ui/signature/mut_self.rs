use tool_core::toolset;

struct Sum(i64);

#[toolset]
impl Sum {
    /// Add to the sum.
    #[tool]
    fn add(&mut self, number: i64) {
        self.0 += number;
    }
}

fn main() {}
