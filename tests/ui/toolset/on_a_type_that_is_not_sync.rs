use std::cell::RefCell;
use tool_core::toolset;

struct Counter(RefCell<u32>);

#[toolset]
impl Counter {
    /// Count.
    #[tool]
    fn count(&self) -> u32 {
        *self.0.borrow_mut() += 1;
        *self.0.borrow()
    }
}

fn main() {}
