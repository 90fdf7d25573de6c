use tool_core::tool;

/// Sort the words.
#[tool]
fn sort(words: &mut Vec<String>) {
    words.sort();
}

fn main() {}
