//! Generic toolsets whose parameters have the names of those in generated code.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)]

use tool_core::schemars::JsonSchema;
use tool_core::serde::{Serialize, de::DeserializeOwned};
use tool_core::{ToolContext, toolset};

struct Store<F, D, T, E>(F, D, T, E);

#[toolset(name = "letters")]
impl<F, D, T, E> Store<F, D, T, E>
where
    F: Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static,
    D: Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static,
    T: Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    /// Exchange.
    #[tool(args = ExchangeArgs)]
    async fn exchange(&self, first: F, #[arg(items(1..))] second: Vec<D>) -> F {
        let _ = (second, &self.1, &self.2, &self.3);
        first
    }

    /// Take.
    #[tool]
    fn take(&self, first: Option<F>) -> Option<F> {
        first
    }
}

#[test]
fn generic_parameters_may_have_any_name() {
    let tools = ToolContext::builder()
        .with(Store(1_u8, true, (), ()))
        .build()
        .expect("sound");
    assert!(tools.has_tool("exchange") && tools.has_tool("take"));
}
