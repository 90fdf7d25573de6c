//! A linked toolset that discovery cannot create. It has its own program, as it fails the discovery of every program.

use tool_core::{ToolContext, toolset};

struct NeedsHand(u8);

#[toolset(name = "needs_hand")]
impl NeedsHand {
    /// Answer.
    #[tool]
    fn answer(&self) -> u8 {
        self.0
    }
}

// L35
#[test]
fn discovery_names_a_toolset_without_a_constructor() {
    let error = ToolContext::discover()
        .expect_err("not created")
        .to_string();
    let expected = "toolset `needs_hand` cannot be discovered, as its type implements neither `Default` nor `Configure`; \
                    implement one of them, or set `discover = false` and add the toolset with `.with(..)`";
    assert_eq!(error, format!("{expected} ({}:8)", file!()));
}

// L35
#[test]
fn undiscoverable_toolset_can_be_added() {
    let tools = ToolContext::builder()
        .with(NeedsHand(5))
        .build()
        .expect("sound");
    assert!(tools.has_tool("answer"));
}
