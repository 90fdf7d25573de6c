//! The repair of arguments that are nearly JSON: which tools it is for, and what is seen of it.

use crate::support::{block_on, call};
use tool_core::arguments::{Coercions, JsonRepair};
use tool_core::session::{History, Message};
use tool_core::testing::ScriptedModel;
use tool_core::{ErrorKind, Mode, Runtime, ToolCall, ToolContext, tool};

const NEARLY_JSON: &str = "{path: '/tmp',}";

/// Read a folder.
#[tool(category = "retrieval")]
fn read(path: &str) -> String {
    format!("read {path}")
}

/// Normalise a path.
#[tool]
fn normalise(path: &str) -> String {
    format!("normalised {path}")
}

/// Read a queue, whose messages are gone then.
#[tool(destructive)]
fn drain(path: &str) -> String {
    format!("drained {path}")
}

/// Look into a letter.
#[tool(category = "retrieval", confirm)]
fn peek(path: &str) -> String {
    format!("peeked {path}")
}

/// Delete a folder.
#[tool(category = "action")]
fn delete(path: &str) -> String {
    format!("deleted {path}")
}

fn tools(repair: JsonRepair) -> ToolContext {
    let builder = ToolContext::builder()
        .with(read)
        .with(normalise)
        .with(drain)
        .with(peek)
        .with(delete);
    builder
        .coercions(Coercions::ALL.with_repair(repair))
        .build()
        .expect("sound")
}

fn repaired(repair: JsonRepair) -> Vec<String> {
    let tools = tools(repair);
    let names = ["read", "normalise", "drain", "peek", "delete"];
    names
        .iter()
        .filter(|name| call(&tools, name, NEARLY_JSON).is_ok())
        .map(|name| (*name).to_owned())
        .collect()
}

// L28
#[test]
fn nothing_is_repaired_unless_the_host_asks_for_it() {
    assert_eq!(repaired(JsonRepair::default()), [""; 0]);
    let tools = ToolContext::builder().with(read).build().expect("sound");
    let refused = call(&tools, "read", NEARLY_JSON);
    assert_eq!(
        refused.error().expect("refused").kind,
        ErrorKind::Validation
    );
    assert!(
        call(
            &tools.with_coercions(Coercions::ALL.with_repair(JsonRepair::All)),
            "read",
            NEARLY_JSON
        )
        .is_ok()
    );
}

// L28
#[test]
fn actions_are_repaired_only_if_they_are_allowed() {
    assert_eq!(repaired(JsonRepair::ReadOnly), ["read"]);
    assert_eq!(repaired(JsonRepair::ExceptActions), ["read", "normalise"]);
    assert_eq!(
        repaired(JsonRepair::All),
        ["read", "normalise", "drain", "peek", "delete"]
    );
}

// L28
#[test]
fn a_repair_is_reported_in_a_session_and_in_a_bare_call() {
    let tools = tools(JsonRepair::ReadOnly);
    let note = "arguments: repaired JSON: a key without quotes, other quotation marks, a comma before a closing bracket";
    assert_eq!(call(&tools, "read", NEARLY_JSON).meta().coerced(), [note]);
    block_on(async {
        let runtime = Runtime::builder(tools).build().expect("sound");
        let session = runtime.session("s-1", Mode::Text).await.expect("opens");
        let response = session
            .call(ToolCall::new("c-1", "read", NEARLY_JSON))
            .await;
        assert_eq!(response.data_json(), Some("\"read /tmp\""));
        assert_eq!(response.meta().coerced(), [note]);
        let refused = session
            .call(ToolCall::new("c-2", "delete", NEARLY_JSON))
            .await;
        assert_eq!(
            refused.error().expect("refused").kind,
            ErrorKind::Validation
        );
    });
}

// L28, L29
#[test]
fn the_history_holds_the_repaired_arguments() {
    block_on(async {
        let runtime = Runtime::builder(tools(JsonRepair::ReadOnly))
            .build()
            .expect("sound");
        let session = runtime.session("s-1", Mode::Text).await.expect("opens");
        let mut model = ScriptedModel::new()
            .calls([ToolCall::new("c-1", "read", NEARLY_JSON)])
            .says("Done.");
        let mut history = History::new();
        let reply = session.reply(&mut model, &mut history, "Read it.").await;
        assert_eq!(reply.error, None);
        let calls = history.messages().iter().find_map(|message| match message {
            Message::Assistant { calls, .. } if !calls.is_empty() => Some(calls),
            _ => None,
        });
        assert_eq!(calls.expect("a call")[0].arguments(), r#"{"path":"/tmp"}"#);
    });
}

// R-L1
#[test]
fn a_repaired_call_is_the_same_call() {
    block_on(async {
        let runtime = Runtime::builder(tools(JsonRepair::ReadOnly))
            .build()
            .expect("sound");
        let session = runtime.session("s-1", Mode::Text).await.expect("opens");
        let mut kinds = Vec::new();
        for (number, text) in [NEARLY_JSON, r#"{"path":"/tmp"}"#, "```{'path': '/tmp'}```"]
            .into_iter()
            .enumerate()
        {
            let response = session
                .call(ToolCall::new(format!("c-{number}"), "read", text))
                .await;
            kinds.push(response.error().map(|error| error.kind));
        }
        assert_eq!(kinds, [None, None, Some(ErrorKind::LoopDetected)]);
    });
}

// L28
#[test]
fn a_call_that_was_cut_is_never_completed() {
    let tools = tools(JsonRepair::All);
    for text in [
        "{\"path\":\"/tmp/scratch\"}",
        "{'path': '/tmp/scratch'}",
        "{path: \"/tmp/scratch\",}",
    ] {
        assert!(call(&tools, "delete", text).is_ok());
        for end in 1..text.len() {
            let response = call(&tools, "delete", &text[..end]);
            assert_eq!(
                response.error().map(|error| error.kind),
                Some(ErrorKind::Validation),
                "{}",
                &text[..end]
            );
        }
    }
}
