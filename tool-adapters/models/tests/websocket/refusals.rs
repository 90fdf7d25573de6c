//! Each rule of the validators refuses what it should, and nothing else before it.

#![expect(
    clippy::needless_pass_by_value,
    reason = "tables are shorter without references"
)]

use crate::strict::{Conversations, StrictGemini, StrictRealtime, Verdict};
use serde_json::{Value, json};

/// A message of one side.
enum Step {
    Server(Value),
    Client(Value),
}

use Step::{Client, Server};

/// Plays messages. The last one has to break a rule whose text contains `expected`, and the earlier ones none.
fn check(expected: &str, steps: Vec<Step>, mut play: impl FnMut(Step) -> Verdict) {
    let mut verdict = Ok(());
    for step in steps {
        assert_eq!(
            verdict,
            Ok(()),
            "an earlier message than the one for `{expected}`"
        );
        verdict = play(step);
    }
    let refusal = verdict.expect_err(expected);
    assert!(
        refusal.contains(expected),
        "expected `{expected}`, got `{refusal}`"
    );
}

fn gemini_refuses(expected: &str, steps: Vec<Step>) {
    let mut strict = StrictGemini::new(Conversations::default());
    check(expected, steps, |step| match step {
        Server(message) => {
            strict.sent(&message);
            Ok(())
        }
        Client(message) => strict.received(&message),
    });
}

fn realtime_refuses(expected: &str, steps: Vec<Step>) {
    let mut strict = StrictRealtime::new("gpt-realtime");
    check(expected, steps, |step| match step {
        Server(message) => {
            strict.sent(&message);
            Ok(())
        }
        Client(message) => strict.received(&message),
    });
}

fn setup(members: Value) -> Value {
    let mut setup = json!({"model": "models/m", "tools": [{"functionDeclarations": [
        {"name": "add", "description": "Adds."},
        {"name": "watch", "description": "Watches.", "behavior": "NON_BLOCKING"},
    ]}]});
    setup
        .as_object_mut()
        .expect("an object")
        .extend(members.as_object().cloned().expect("an object"));
    json!({"setup": setup})
}

/// Begins a conversation whose setup has these members.
fn begun(members: Value, steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let begin = [Client(setup(members)), Server(json!({"setupComplete": {}}))];
    begin.into_iter().chain(steps).collect()
}

fn talk(steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
    begun(json!({}), steps)
}

fn call(id: &str, name: &str) -> Step {
    Server(json!({"toolCall": {"functionCalls": [{"id": id, "name": name, "args": {}}]}}))
}

fn response(id: &str, name: &str) -> Value {
    json!({"id": id, "name": name, "response": {"output": 3}})
}

fn answer(response: Value) -> Step {
    Client(json!({"toolResponse": {"functionResponses": [response]}}))
}

fn text() -> Step {
    Client(json!({"realtimeInput": {"text": "Hello"}}))
}

fn history(complete: bool) -> Step {
    let turns = json!([{"role": "user", "parts": [{"text": "Hello"}]}]);
    Client(json!({"clientContent": {"turns": turns, "turnComplete": complete}}))
}

#[test]
fn gemini_refuses_messages_out_of_order() {
    gemini_refuses("the first message is `setup`", vec![text()]);
    gemini_refuses(
        "nothing is sent before `setupComplete`",
        vec![Client(setup(json!({}))), text()],
    );
    gemini_refuses("`setup` is sent once", talk([Client(setup(json!({})))]));
    gemini_refuses(
        "`setup` is sent once",
        vec![Client(setup(json!({}))), Client(setup(json!({})))],
    );
    let with_history = json!({"historyConfig": {"initialHistoryInClientContent": true}});
    gemini_refuses(
        "the initial history comes first",
        begun(with_history.clone(), [text()]),
    );
    gemini_refuses(
        "the initial history comes first",
        begun(with_history.clone(), [history(false), text()]),
    );
    gemini_refuses(
        "which `historyConfig` announces",
        begun(with_history, [history(true), text(), history(true)]),
    );
    gemini_refuses("which `historyConfig` announces", talk([history(true)]));
}

#[test]
fn gemini_refuses_messages_of_another_form() {
    let both = json!({"realtimeInput": {"text": "x"}, "clientContent": {"turnComplete": true}});
    let audio =
        |mime_type: &str, data: &str| json!({"audio": {"mimeType": mime_type, "data": data}});
    for (expected, message) in [
        ("exactly one of", json!({})),
        ("exactly one of", both),
        ("unknown field `message.session`", json!({"session": {}})),
        ("`message` is not an object", json!([])),
        (
            "unknown field `message.realtimeInput.say`",
            json!({"realtimeInput": {"say": "x"}}),
        ),
        ("`realtimeInput` has no input", json!({"realtimeInput": {}})),
        (
            "`message.realtimeInput.audio.data` has an",
            json!({"realtimeInput": audio("audio/pcm", "%%%%")}),
        ),
        (
            "audio is PCM",
            json!({"realtimeInput": audio("audio/mp3", "AAAA")}),
        ),
        (
            "activity is marked only if",
            json!({"realtimeInput": {"activityStart": {}}}),
        ),
        (
            "missing field `message.toolResponse.functionResponses`",
            json!({"toolResponse": {}}),
        ),
    ] {
        gemini_refuses(expected, talk([Client(message)]));
    }
    let manual = json!({"realtimeInputConfig": {"automaticActivityDetection": {"disabled": true}}});
    let end = Client(json!({"realtimeInput": {"audioStreamEnd": true}}));
    gemini_refuses("`audioStreamEnd` needs", begun(manual, [end]));
    let parts = json!([{"functionResponse": response("c1", "add")}]);
    let turns = json!({"turns": [{"role": "user", "parts": parts}], "turnComplete": true});
    let with_history = json!({"historyConfig": {"initialHistoryInClientContent": true}});
    let message = Client(json!({"clientContent": turns}));
    gemini_refuses(
        "a response in the history follows its call",
        begun(with_history, [message]),
    );
}

#[test]
fn gemini_refuses_setups_that_it_does_not_know() {
    let functions = |functions: Value| json!({"tools": [{"functionDeclarations": functions}]});
    for (expected, members) in [
        (
            "unknown field `message.setup.toolConfig`",
            json!({"toolConfig": {}}),
        ),
        ("has the form `models/{model}`", json!({"model": "m"})),
        (
            "generationConfig.stopSequences`",
            json!({"generationConfig": {"stopSequences": []}}),
        ),
        (
            "sessionResumption.transparent`",
            json!({"sessionResumption": {"transparent": true}}),
        ),
        (
            "has not given this handle",
            json!({"sessionResumption": {"handle": "h-0"}}),
        ),
        (
            "has an invalid value: \"system\"",
            json!({"systemInstruction": {"role": "system", "parts": []}}),
        ),
        (
            "has text only",
            json!({"systemInstruction": {"parts": [{"functionCall": {"name": "x"}}]}}),
        ),
        (
            "missing field `message.setup.tools[0].functionDeclarations[0].description`",
            functions(json!([{"name": "x"}])),
        ),
        (
            "functionDeclarations[0].strict`",
            functions(json!([{"name": "x", "description": "X.", "strict": true}])),
        ),
        (
            "is not the name of a function",
            functions(json!([{"name": "0", "description": "X."}])),
        ),
        (
            "declared twice",
            functions(json!([{"name": "x", "description": ""}, {"name": "x", "description": ""}])),
        ),
        (
            "excludes `parametersJsonSchema`",
            functions(
                json!([{"name": "x", "description": "", "parameters": {}, "parametersJsonSchema": {}}]),
            ),
        ),
    ] {
        gemini_refuses(expected, vec![Client(setup(members))]);
    }
}

#[test]
fn gemini_refuses_responses_that_match_no_open_call() {
    let withdrawn = Server(json!({"toolCallCancellation": {"ids": ["c1"]}}));
    let mut continued = response("c1", "add");
    continued["willContinue"] = json!(true);
    let mut scheduled = response("c1", "add");
    scheduled["scheduling"] = json!("LATER");
    for (expected, steps) in [
        (
            "no call has the id `c1`",
            vec![answer(response("c1", "add"))],
        ),
        (
            "is one of `add`, not `watch`",
            vec![call("c1", "add"), answer(response("c1", "watch"))],
        ),
        (
            "was withdrawn",
            vec![call("c1", "add"), withdrawn, answer(response("c1", "add"))],
        ),
        (
            "scheduling` has an invalid value",
            vec![call("c1", "add"), answer(scheduled)],
        ),
        (
            "was answered before",
            vec![
                call("c1", "add"),
                answer(response("c1", "add")),
                answer(response("c1", "add")),
            ],
        ),
        (
            "was answered before",
            vec![
                call("c1", "add"),
                answer(continued),
                answer(response("c1", "add")),
            ],
        ),
    ] {
        gemini_refuses(expected, talk(steps));
    }
}

#[test]
fn gemini_takes_further_responses_of_non_blocking_calls() {
    let mut continued = response("c1", "watch");
    continued["willContinue"] = json!(true);
    let last = || answer(response("c1", "watch"));
    let steps = [
        call("c1", "watch"),
        answer(continued.clone()),
        answer(continued),
        last(),
        last(),
    ];
    gemini_refuses("was answered before", talk(steps));
}

#[test]
fn gemini_takes_lost_responses_of_a_resumed_call_again() {
    let conversations = Conversations::default();
    let mut first = StrictGemini::new(conversations.clone());
    let handle =
        |handle: &str| json!({"sessionResumptionUpdate": {"newHandle": handle, "resumable": true}});
    let resume = |handle: &str, model: &str| {
        let mut strict = StrictGemini::new(conversations.clone());
        let verdict = strict.received(&setup(
            json!({"model": model, "sessionResumption": {"handle": handle}}),
        ));
        strict.sent(&json!({"setupComplete": {}}));
        verdict.map(|()| strict)
    };
    let respond = |strict: &mut StrictGemini| {
        strict.received(&json!({"toolResponse": {"functionResponses": [response("c1", "add")]}}))
    };
    assert_eq!(first.received(&setup(json!({}))), Ok(()));
    for message in [json!({"setupComplete": {}}), handle("h-1")] {
        first.sent(&message);
    }
    if let Server(message) = call("c1", "add") {
        first.sent(&message);
    }
    assert_eq!(respond(&mut first), Ok(()));
    let refused = resume("h-1", "models/other").err().unwrap_or_default();
    assert!(refused.contains("keeps its model"), "{refused}");
    // The answer came after the first handle and before the second.
    let mut second = resume("h-1", "models/m").unwrap_or_else(|rule| panic!("{rule}"));
    assert_eq!(respond(&mut second), Ok(()));
    second.sent(&handle("h-2"));
    let mut third = resume("h-2", "models/m").unwrap_or_else(|rule| panic!("{rule}"));
    assert!(respond(&mut third).is_err_and(|rule| rule.contains("answered before")));
}

fn event(kind: &str) -> Value {
    json!({"type": kind})
}

fn update(members: Value) -> Value {
    let mut session = json!({"type": "realtime"});
    session
        .as_object_mut()
        .expect("an object")
        .extend(members.as_object().cloned().expect("an object"));
    json!({"type": "session.update", "session": session})
}

fn item(item: Value) -> Value {
    json!({"type": "conversation.item.create", "item": item})
}

fn output(id: &str) -> Step {
    Client(item(
        json!({"type": "function_call_output", "call_id": id, "output": "3"}),
    ))
}

fn function_call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "add", "arguments": "{}"})
}

fn message(role: &str, part: Value) -> Value {
    item(json!({"type": "message", "role": role, "content": [part]}))
}

#[test]
fn realtime_refuses_events_of_another_form() {
    let part = |kind: &str| json!({"type": kind, "text": "x"});
    let long = "i".repeat(33);
    for (expected, event) in [
        (
            "no client event has the type `session.create`",
            event("session.create"),
        ),
        (
            "unknown field `event.session`",
            json!({"type": "response.create", "session": {}}),
        ),
        (
            "unknown field `event.response.model`",
            json!({"type": "response.create", "response": {"model": "m"}}),
        ),
        (
            "`tool_choice` has",
            json!({"type": "response.create", "response": {"tool_choice": "never"}}),
        ),
        (
            "missing field `event.item`",
            event("conversation.item.create"),
        ),
        (
            "no item has the type `tool_result`",
            item(json!({"type": "tool_result"})),
        ),
        (
            "no item has the type `message` and the role `tool`",
            message("tool", part("input_text")),
        ),
        (
            "has an invalid value: \"text\"",
            message("user", part("text")),
        ),
        (
            "has an invalid value: \"output_text\"",
            message("user", part("output_text")),
        ),
        (
            "has an invalid value: \"input_text\"",
            message("assistant", part("input_text")),
        ),
        (
            "has an invalid value: \"output_audio\"",
            message(
                "assistant",
                json!({"type": "output_audio", "audio": "AAAA"}),
            ),
        ),
        (
            "missing field `item.content.text`",
            message("user", json!({"type": "input_text"})),
        ),
        (
            "unknown field `item.result`",
            item(json!({"type": "function_call_output", "result": 3})),
        ),
        (
            "`item.output` has an invalid value",
            item(json!({"type": "function_call_output", "call_id": "c", "output": {}})),
        ),
        (
            "missing field `item.arguments`",
            item(json!({"type": "function_call", "call_id": "c", "name": "add"})),
        ),
        (
            "a call has 32 characters at most",
            item(function_call(&long)),
        ),
        (
            "an item has 32 characters at most",
            item(json!({"type": "message", "id": long, "role": "user", "content": []})),
        ),
        (
            "`event.audio` has an",
            json!({"type": "input_audio_buffer.append", "audio": "%"}),
        ),
    ] {
        realtime_refuses(expected, vec![Client(event)]);
    }
}

#[test]
fn realtime_refuses_sessions_that_it_does_not_know() {
    let tools = |tools: Value| json!({"tools": tools});
    let tool = |name: &str| json!({"type": "function", "name": name});
    for (expected, members) in [
        ("has an invalid value: \"voice\"", json!({"type": "voice"})),
        (
            "unknown field `event.session.voice`",
            json!({"voice": "marin"}),
        ),
        (
            "unknown field `event.session.audio.voice`",
            json!({"audio": {"voice": "marin"}}),
        ),
        (
            "the model of a session cannot change",
            json!({"model": "another"}),
        ),
        (
            "text or audio, not both",
            json!({"output_modalities": ["text", "audio"]}),
        ),
        (
            "`tool_choice` has an invalid value",
            json!({"tool_choice": {"name": "add"}}),
        ),
        (
            "unknown field `event.session.tools[0].function`",
            tools(json!([{"type": "function", "function": {}}])),
        ),
        (
            "missing field `event.session.tools[0].name`",
            tools(json!([{"type": "function"}])),
        ),
        ("is not the name of a tool", tools(json!([tool("a.b")]))),
        ("declared twice", tools(json!([tool("a"), tool("a")]))),
    ] {
        realtime_refuses(expected, vec![Client(update(members))]);
    }
}

#[test]
fn realtime_refuses_events_out_of_order() {
    let create = || Client(event("response.create"));
    let voice = |voice: &str| Client(update(json!({"audio": {"output": {"voice": voice}}})));
    let called =
        || Server(json!({"type": "response.output_item.added", "item": function_call("c1")}));
    let of_item = |kind: &str| Client(json!({"type": kind, "item_id": "i"}));
    let named = || {
        Client(item(
            json!({"type": "message", "id": "i", "role": "user", "content": []}),
        ))
    };
    for (expected, steps) in [
        (
            "conversation_already_has_active_response",
            vec![create(), create()],
        ),
        (
            "conversation_already_has_active_response",
            vec![Server(event("response.created")), create()],
        ),
        (
            "response_cancel_not_active",
            vec![
                create(),
                Server(event("response.done")),
                Client(event("response.cancel")),
            ],
        ),
        (
            "cannot_update_voice",
            vec![
                voice("marin"),
                Server(event("response.output_audio.delta")),
                voice("cedar"),
            ],
        ),
        (
            "input_audio_buffer_commit_empty",
            vec![Client(event("input_audio_buffer.commit"))],
        ),
        ("invalid_tool_call_id", vec![output("c1")]),
        (
            "the call `c1` has an output",
            vec![called(), output("c1"), output("c1")],
        ),
        (
            "the call `c1` has an output",
            vec![
                Client(item(function_call("c1"))),
                output("c1"),
                output("c1"),
            ],
        ),
        (
            "another call has the id `c1`",
            vec![called(), Client(item(function_call("c1")))],
        ),
        ("another item has the id `i`", vec![named(), named()]),
        (
            "no item has the id `i`",
            vec![of_item("conversation.item.delete")],
        ),
        (
            "no item has the id of",
            vec![Client(json!({
                "type": "conversation.item.create", "previous_item_id": "i",
                "item": {"type": "message", "role": "user", "content": []}
            }))],
        ),
    ] {
        realtime_refuses(expected, steps);
    }
}
