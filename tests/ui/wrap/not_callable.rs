use tool_core::wrap_tool;

struct Search;

fn main() {
    let _ = wrap_tool!(Search);
}
