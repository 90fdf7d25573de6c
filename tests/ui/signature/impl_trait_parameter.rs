use tool_core::tool;

/// Show it.
#[tool]
fn show(value: impl ToString) -> String {
    value.to_string()
}

fn main() {}
