use tool_core::{ToolContext, Toolset, toolset};

pub struct Weather;

#[toolset]
impl Weather {
    #[tool]
    fn get(&self, #[arg(nam = "town")] city: &str) -> String {
        city.to_owned()
    }

    const CITY: &'static str = "Berlin";

    fn helper(&self) -> String {
        self.get(Self::CITY)
    }
}

/// Give it away.
fn toolset() -> impl Toolset {
    Weather
}

fn main() {
    let _ = Weather.helper();
    let _ = Weather.get("Paris");
    let _ = toolset();
    let _ = ToolContext::builder().with(Weather).build();
}
