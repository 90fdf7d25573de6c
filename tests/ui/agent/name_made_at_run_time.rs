use tool_core::agent;

#[agent(format!("researcher {number}"))]
fn research(number: u8) {
    println!("{number}");
}

fn main() {}
