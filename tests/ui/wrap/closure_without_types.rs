use tool_core::wrap_tool;

fn main() {
    let add = wrap_tool!(|n| n + 1);
    add(1_u8);
}
