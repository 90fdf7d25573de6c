use tool_core::toolset;

/// The weather.
#[toolset]
trait Weather {
    /// Get the weather.
    fn get(&self);
}

fn main() {}
