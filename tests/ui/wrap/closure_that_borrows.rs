use tool_core::wrap_tool;

fn main() {
    let step = 1;
    let add = wrap_tool!(|n: u8| n + step);
    add(1);
}
