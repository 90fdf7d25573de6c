//! The definitions of the tools.

use crate::tools::tools;
use tool_core::call::Modes;
use tool_core::describe::Manifest;
use tool_core::tool::Confirm;
use tool_core::{Category, ToolContext, ToolDefinition};

fn definition(tools: &ToolContext, name: &str) -> ToolDefinition {
    tools.function_tool(name).unwrap().definition().clone()
}

// R-F4
#[test]
fn every_tool_has_a_complete_guide() {
    for tool in tools().unwrap().definitions() {
        let guide = tool.guide().unwrap();
        assert!(
            guide.heading().is_some() && !guide.summary().is_empty(),
            "{}",
            tool.name()
        );
        assert!(
            guide.parameters().is_some() && guide.watch_out().is_some(),
            "{}",
            tool.name()
        );
        for parameter in tool.parameter_order() {
            assert!(
                guide
                    .parameters()
                    .unwrap()
                    .contains(&format!("- `{parameter}`: ")),
                "{}: {parameter}",
                tool.name()
            );
        }
        assert!(!guide.examples().is_empty(), "{}", tool.name());
    }
}

// R-F3, R-F4
#[test]
fn guide_examples_are_accepted_by_their_tool() {
    let tools = tools().unwrap();
    for tool in tools.definitions() {
        assert_eq!(
            tool.guide().unwrap().problems_against(tool.parameters()),
            [""; 0],
            "{}",
            tool.name()
        );
    }
    assert_eq!(Manifest::build(&tools).unwrap().tools.len(), 6);
}

// R-B3
#[test]
fn tools_have_the_documented_modes() {
    let tools = tools().unwrap();
    for (name, modes) in [
        ("start_voice_session", Modes::TEXT),
        ("end_voice_session", Modes::VOICE),
        ("kb_search", Modes::BOTH),
        ("kb_get", Modes::BOTH),
        ("ignore_user", Modes::BOTH),
    ] {
        assert_eq!(definition(&tools, name).modes(), modes, "{name}");
    }
}

// R-B1
#[test]
fn search_and_read_are_retrieval_tools() {
    let tools = tools().unwrap();
    let retrieval = tools
        .definitions()
        .filter(|tool| tool.category() == Category::Retrieval);
    assert_eq!(
        retrieval.map(ToolDefinition::name).collect::<Vec<_>>(),
        ["kb_search", "kb_get"]
    );
}

// R-C1
#[test]
fn only_paid_actions_need_approval() {
    let tools = tools().unwrap();
    let waits = tools
        .definitions()
        .filter(|tool| matches!(tool.confirm(), Confirm::Always));
    assert_eq!(
        waits.map(ToolDefinition::name).collect::<Vec<_>>(),
        ["book_late_checkout"]
    );
    assert!(!definition(&tools, "book_late_checkout").flags().idempotent);
}

#[test]
fn blocking_and_ending_are_actions() {
    let tools = tools().unwrap();
    for name in ["ignore_user", "end_voice_session", "book_late_checkout"] {
        assert_eq!(
            definition(&tools, name).category(),
            Category::Action,
            "{name}"
        );
    }
}
