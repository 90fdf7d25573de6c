use tool_core::agent;

struct Researcher;

#[agent("researcher")]
impl Researcher {
    fn research(&self) {}
}

fn main() {}
