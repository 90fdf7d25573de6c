use tool_core::tool;

/// Sum them up.
#[tool]
fn sum<const N: usize>(values: [i64; N]) -> i64 {
    values.iter().sum()
}

fn main() {}
