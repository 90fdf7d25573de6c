use tool_core::wrap_tool;

fn nine(_: u8, _: u8, _: u8, _: u8, _: u8, _: u8, _: u8, _: u8, _: u8) {}

fn main() {
    let _ = wrap_tool!(nine);
}
