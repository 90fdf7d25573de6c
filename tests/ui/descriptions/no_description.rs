use tool_core::tool;

#[tool]
async fn forecast(city: String) -> String {
    city
}

fn main() {}
