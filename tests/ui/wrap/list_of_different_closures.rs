use tool_core::wrap_all;

fn main() {
    let step = 1;
    let _ = wrap_all!([|n: u8| n + 1, move |n: u8| n + step]);
}
