use tool_core::agent;

trait Research {
    #[agent("researcher")]
    async fn research(&self);
}

fn main() {}
