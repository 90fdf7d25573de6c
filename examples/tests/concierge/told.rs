//! What the model and the runtime are told of the tools.

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
fn every_tool_has_a_guide_with_a_summary_parameters_examples_and_what_to_watch_out_for() {
    for tool in tools().unwrap().definitions() {
        let guide = tool.guide().unwrap();
        assert!(guide.heading().is_some() && !guide.summary().is_empty(), "{}", tool.name());
        assert!(guide.parameters().is_some() && guide.watch_out().is_some(), "{}", tool.name());
        for parameter in tool.parameter_order() {
            assert!(
                guide.parameters().unwrap().contains(&format!("- `{parameter}`: ")),
                "{}: {parameter}",
                tool.name()
            );
        }
        assert!(!guide.examples().is_empty(), "{}", tool.name());
    }
}

// R-F3, R-F4
#[test]
fn the_examples_of_every_guide_are_calls_that_the_tool_accepts() {
    let tools = tools().unwrap();
    for tool in tools.definitions() {
        assert_eq!(tool.guide().unwrap().problems_against(tool.parameters()), [""; 0], "{}", tool.name());
    }
    assert_eq!(Manifest::build(&tools).unwrap().tools.len(), 6);
}

// R-B3
#[test]
fn a_voice_session_is_started_in_text_and_ended_in_voice_and_the_rest_serves_both() {
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
fn the_two_look_ups_are_retrieval() {
    let tools = tools().unwrap();
    let retrieval = tools.definitions().filter(|tool| tool.category() == Category::Retrieval);
    assert_eq!(retrieval.map(ToolDefinition::name).collect::<Vec<_>>(), ["kb_search", "kb_get"]);
}

// R-C1
#[test]
fn only_what_costs_money_waits_for_a_person() {
    let tools = tools().unwrap();
    let waits = tools.definitions().filter(|tool| matches!(tool.confirm(), Confirm::Always));
    assert_eq!(waits.map(ToolDefinition::name).collect::<Vec<_>>(), ["book_late_checkout"]);
    assert!(!definition(&tools, "book_late_checkout").flags().idempotent);
}
