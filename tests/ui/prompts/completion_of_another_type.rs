use tool_core::prompt;
use tool_core::tool::CompletionRequest;

fn cities(_: &CompletionRequest) -> u32 {
    7
}

/// Plan a trip.
#[prompt]
fn trip(#[arg(complete = cities)] city: &str) -> String {
    city.to_owned()
}

fn main() {}
