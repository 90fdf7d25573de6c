use tool_core::wrap_tool;

fn add(a: u8, b: u8) -> u8 {
    a + b
}

fn main() {
    let add = wrap_tool!(add);
    add("one", 2);
}
