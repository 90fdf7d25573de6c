use tool_core::tool;

/// Show it.
#[tool]
fn show<T: ToString>(value: T) -> String {
    value.to_string()
}

fn main() {}
