//! A search over many tools in a session: the calls whose tool it finds, and the tokens that it saves.
//!
//! The variable `TOOL_DATA` names a folder with `mcp_tools.json`, lists of tools by server, and `bfcl.jsonl`, functions with
//! calls of the Berkeley Function-Calling Leaderboard. Without it the data of the conformance checks are measured.

use crate::Provider;
use crate::declarations::DeclareOptions;
use crate::declare::declare_tools;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use tool_core::session::{SEARCH_TOOL, ToolSearch};
use tool_core::{
    FunctionTool, Mode, Policy, RawTool, RunContext, Runtime, Tool, ToolCall, ToolContext,
    ToolDefinition, ToolError,
};

/// The number of tools that a search declares.
const FOUND: usize = 5;

async fn nothing(_: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(Value::Null)
}

/// Tools by name, and calls: the name of the tool and the arguments.
#[derive(Default)]
struct ToolData {
    tools: BTreeMap<String, FunctionTool>,
    calls: Vec<(String, Map<String, Value>)>,
}

impl ToolData {
    fn add(&mut self, function: &Value, schema: &str) {
        let text = |member: &str| function[member].as_str().unwrap_or_default().to_owned();
        let name = text("name");
        let description = text("description");
        let mut parameters = function[schema].clone();
        map_types(&mut parameters);
        let raw = RawTool {
            name: name.clone(),
            description,
            parameters,
        };
        self.tools
            .entry(name)
            .or_insert_with(|| FunctionTool::raw(raw, nothing));
    }

    fn add_servers(&mut self, servers: &str) {
        let servers = serde_json::from_str::<Map<String, Value>>(servers).expect("JSON");
        servers
            .values()
            .flat_map(|tools| tools.as_array().expect("tools"))
            .for_each(|tool| self.add(tool, "inputSchema"));
    }

    fn of_repository() -> Self {
        let mut data = Self::default();
        data.add_servers(include_str!(
            "../../../../tests/conformance/data/servers.json"
        ));
        let functions = include_str!("../../../../tests/conformance/data/functions.json");
        for function in serde_json::from_str::<Vec<Value>>(functions).expect("JSON") {
            data.add(&function, "parameters");
            let name = function["name"].as_str().expect("a name");
            let calls = function["calls"]
                .as_array()
                .expect("calls")
                .iter()
                .filter_map(Value::as_object);
            data.calls
                .extend(calls.map(|arguments| (name.to_owned(), arguments.clone())));
        }
        data
    }

    fn of_folder(folder: &Path) -> Self {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file of data");
        let mut data = Self::default();
        data.add_servers(&read("mcp_tools.json"));
        for line in read("bfcl.jsonl").lines() {
            let case = serde_json::from_str::<Value>(line).expect("JSON");
            case["functions"]
                .as_array()
                .expect("functions")
                .iter()
                .for_each(|function| data.add(function, "parameters"));
            let truths = case["ground_truth"]
                .as_array()
                .expect("calls")
                .iter()
                .filter_map(Value::as_object)
                .flatten();
            for (name, accepted) in truths {
                // Of the accepted values, the first.
                let first = |(name, values): (&String, &Value)| (name.clone(), values[0].clone());
                data.calls.push((
                    name.clone(),
                    accepted
                        .as_object()
                        .expect("values")
                        .iter()
                        .map(first)
                        .collect(),
                ));
            }
        }
        data
    }
}

/// Maps the leaderboard's types to those of JSON Schema.
fn map_types(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let mapped = match map.get("type").and_then(Value::as_str) {
                Some("dict") => Some("object"),
                Some("float") => Some("number"),
                Some("tuple") => Some("array"),
                _ => None,
            };
            map.extend(mapped.map(|kind| ("type".to_owned(), kind.into())));
            if map.get("type").is_some_and(|kind| kind == "any") {
                map.remove("type");
            }
            map.values_mut().for_each(map_types);
        }
        Value::Array(items) => items.iter_mut().for_each(map_types),
        _ => {}
    }
}

fn tokens<'a>(tools: impl IntoIterator<Item = &'a ToolDefinition>) -> usize {
    let declared = declare_tools(Provider::Anthropic, tools, &[], DeclareOptions::default());
    declared.report().tools.iter().map(|tool| tool.tokens).sum()
}

/// A call is looked for by the names and values of its arguments, without the name of its tool. A model has the user's words
/// besides.
// L39
#[tokio::test]
async fn most_calls_find_their_tool_among_the_first_five() {
    let data = std::env::var_os("TOOL_DATA");
    let data = data.map_or_else(ToolData::of_repository, |folder| {
        ToolData::of_folder(Path::new(&folder))
    });
    let all = tokens(data.tools.values().map(FunctionTool::definition));
    let tools = ToolContext::builder()
        .with_all(data.tools.into_values().map(Tool::from))
        .build()
        .expect("sound tools");
    let count = tools.definitions().count();
    // The session declares what one search has found.
    let search = ToolSearch::over_tools(FOUND).results(FOUND).keep(FOUND);
    let policy = Policy::text().search_tools(search).repeated_calls(None);
    let session = Runtime::builder(tools)
        .policy(policy)
        .build()
        .expect("a runtime")
        .session("s-1", Mode::Text);
    let session = session.await.expect("a session");
    let first = tokens(&session.definitions());

    let mut hits = 0;
    let mut declared = 0;
    for (name, arguments) in &data.calls {
        let query = json!({"query": json!(arguments).to_string()});
        assert!(
            session
                .call(ToolCall::new("call_1", SEARCH_TOOL, query))
                .await
                .is_ok()
        );
        let found = session.definitions();
        assert!(found.len() <= FOUND + 1);
        hits += usize::from(found.iter().any(|tool| tool.name() == name));
        declared += tokens(&found);
        session.next_turn().await;
    }
    let calls = data.calls.len();
    let then = declared / calls;
    println!("{count} tools, {calls} calls: {hits} find their tool among the first {FOUND}");
    println!("tokens declared: {all} of all tools, {first} at first, {then} after a search");
    assert!(hits * 100 >= calls * 90, "{hits} of {calls}");
    assert!(
        first * 50 <= all && then * 10 <= all,
        "{first}, {then} of {all}"
    );
}
