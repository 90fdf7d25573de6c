//! The JSON form of conversations, and the reading of texts that are not trusted.

use crate::arguments::Problem;
use crate::call::{Content, ErrorBody, ErrorKind, ModelResult, ResultForm, ToolCall};
use crate::session::history::History;
use crate::session::json_form::limits::HistoryLimits;
use crate::session::length::keep::Keep;
use crate::session::message::Message;
use crate::session::model_info::ModelInfo;
use crate::session::model_step::ModelStep;
use crate::session::raw_turn::RawTurn;
use crate::session::reply::Reply;
use crate::session::reply_finish::ReplyFinish;
use crate::session::user_message::UserMessage;
use crate::tool::provider::ProviderId;
use crate::trace::TokenUsage;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A stored history of version 1. It never changes: every later version has to read it.
const VERSION_1: &str = include_str!("../json_form/golden/history_v1.json");

fn result(text: &str, is_error: bool, is_text: bool) -> ModelResult {
    ModelResult {
        text: text.to_owned(),
        is_error,
        reply: true,
        parts: false,
        is_text,
        goes_on: false,
    }
}

/// Returns the history of the golden file.
fn history() -> History {
    let plan = Content::Resource {
        uri: "data:application/pdf;base64,JVBERi0xLjc=".into(),
        mime_type: Some("application/pdf".into()),
        text: None,
        name: Some("plan.pdf".into()),
    };
    let guests = Content::Resource {
        uri: "attachment:guests.csv".into(),
        mime_type: Some("text/csv".into()),
        text: Some("name,seats\nAda,4".into()),
        name: Some("guests.csv".into()),
    };
    let question = UserMessage::new("Is a table free \u{2014} as on this plan?")
        .image("R0lGODlhAQABAAAAADs=", "image/gif")
        .audio("AA==", "audio/wav")
        .with(plan)
        .with(guests)
        .with_url("https://example.com/harbour.png", "image/png");
    let arguments = r#"{"table": 4, "guest":123456789012345678901234567890, "price": 1.10}"#;
    let native = RawTurn {
        provider: ProviderId::from_static("anthropic"),
        items: vec![
            json!({"type": "thinking", "thinking": "A table.", "signature": "c2lnbmVk"}),
            json!({"type": "text", "text": "I look."}),
            json!({"type": "tool_use", "id": "call_1", "name": "is_free", "input": {"table": 4}}),
            json!({"type": "tool_use", "id": "call_2", "name": "is_free", "input": {}}),
        ],
    };
    let mut history = History::new();
    history.extend([
        Message::User(question),
        Message::Assistant {
            text: Some("I look.".into()),
            calls: vec![
                ToolCall::new("call_1", "is_free", arguments),
                ToolCall::new("call_2", "is_free", "{\"table\": "),
            ],
            native: Some(native),
        },
        Message::Result {
            call_id: "call_1".into(),
            tool: "is_free".into(),
            result: result("true", false, false),
        },
        Message::Result {
            call_id: "call_2".into(),
            tool: "is_free".into(),
            result: result("the arguments are no JSON", true, true),
        },
        Message::Assistant {
            text: Some("Table 4 is free.".into()),
            calls: Vec::new(),
            native: None,
        },
    ]);
    history
}

/// Returns the problems of a text, as lines.
fn problems(json: &str) -> Vec<String> {
    let error = History::from_json(json).expect_err("has problems");
    let lines = error.problems().iter().map(Problem::in_settings);
    lines.collect()
}

#[test]
fn a_history_of_version_1_is_read_for_ever() {
    let read = History::from_json(VERSION_1).expect("is a history");
    assert_eq!(read, history());
}

#[test]
fn a_history_is_written_as_in_version_1() {
    let written = serde_json::from_str::<Value>(&history().to_json()).expect("is JSON");
    let golden = serde_json::from_str::<Value>(VERSION_1).expect("is JSON");
    assert_eq!(written, golden);
}

#[test]
fn arguments_are_written_byte_for_byte() {
    let written = history().to_json();
    let arguments = r#"{"table": 4, "guest":123456789012345678901234567890, "price": 1.10}"#;
    assert!(written.contains(arguments), "{written}");
}

#[test]
fn histories_satisfy_the_published_schema() {
    let validator = jsonschema::validator_for(&History::json_schema()).expect("a schema");
    let enveloped = History::new().result_form(ResultForm::Envelope);
    for history in [History::new(), enveloped, history()] {
        let json = serde_json::to_value(&history).expect("serialises");
        assert!(validator.is_valid(&json), "{json}");
    }
}

#[test]
fn ids_of_removed_calls_survive_their_json() {
    let mut history = history();
    history.trim(&Keep::messages(1).without_first());
    let json = history.to_json();
    assert!(
        json.contains(r#""removedCalls":["call_1","call_2"]"#),
        "{json}"
    );
    assert_eq!(History::from_json(&json), Ok(history));

    let validator = jsonschema::validator_for(&History::json_schema()).expect("a schema");
    let value: Value = serde_json::from_str(&json).expect("JSON");
    assert!(validator.is_valid(&value), "{json}");
}

#[test]
fn the_published_schema_refuses_what_is_no_history() {
    let validator = jsonschema::validator_for(&History::json_schema()).expect("a schema");
    let others = [
        json!({"messages": []}),
        json!({"version": 2, "messages": []}),
        json!({"version": 1, "messages": [{"role": "system", "text": "Be brief."}]}),
        json!({"version": 1, "messages": [{"role": "user"}]}),
        json!({"version": 1, "messages": [{"role": "tool", "callId": "1", "tool": "add"}]}),
        json!({"version": 1, "messages": [{"role": "user", "content": [{"type": "video"}]}]}),
    ];
    for other in others {
        assert!(!validator.is_valid(&other), "{other}");
        assert!(History::from_json(&other.to_string()).is_err(), "{other}");
    }
}

#[test]
fn a_newer_version_is_a_clear_error() {
    let newer = r#"{"version": 2, "messages": "of another form"}"#;
    let expected =
        "`/version`: expected version 1, got 2, a newer program has written it, so update this one";
    assert_eq!(problems(newer), [expected]);
}

#[test]
fn every_problem_is_reported_with_its_place() {
    let json = r#"{"version": 1, "messages": [
        {"role": "system", "text": "Be brief."},
        {"role": "user", "content": [{"type": "text"}, {"type": "text", "text": "Hi"}, 3]},
        {"role": "assistant", "text": 1, "calls": [{"id": "1", "arguments": [2]}, "add"]},
        {"role": "tool", "callId": "1", "tool": "add", "result": {"text": "3"}},
        {"role": "user", "content": "Hi", "content": "Ho"},
        {"content": "Hi"},
        7
    ]}"#;
    let found = problems(json);
    let places = found
        .iter()
        .filter_map(|problem| problem.split(':').next())
        .collect::<Vec<_>>();
    let expected = [
        "`/messages/0/role`",
        "`/messages/1/content/0`",
        "`/messages/1/content/2`",
        "`/messages/2/text`",
        "`/messages/2/calls/0/name`",
        "`/messages/2/calls/0/arguments`",
        "`/messages/2/calls/1`",
        "`/messages/3/result`",
        "`/messages/4/content`",
        "`/messages/5/role`",
        "`/messages/6`",
    ];
    assert_eq!(places, expected, "{found:?}");
    let role =
        r#"`/messages/0/role`: expected one of `user`, `assistant` and `tool`, got "system""#;
    assert_eq!(found[0], role);
}

#[test]
fn many_problems_are_counted() {
    let messages = vec![json!({"role": "system"}); 100];
    let json = json!({"version": 1, "messages": messages}).to_string();
    let error = History::from_json(&json).expect_err("has problems");
    assert_eq!(error.problems().len(), 64);
    assert!(error.to_string().ends_with("; and 36 more"), "{error}");
}

#[test]
fn unknown_members_are_ignored() {
    let json = r#"{"version": 1, "title": "Tables", "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Hi", "language": "en"}], "at": 7},
        {"role": "assistant", "calls": [{"id": "1", "name": "add", "arguments": {}, "session": "s-1"}]}
    ]}"#;
    let mut expected = History::new();
    expected.push(Message::user("Hi"));
    expected.push(Message::Assistant {
        text: None,
        calls: vec![ToolCall::new("1", "add", "{}")],
        native: None,
    });
    assert_eq!(History::from_json(json).expect("is a history"), expected);
}

#[test]
fn the_size_of_a_stored_history_is_bounded() {
    let json = history().to_json();
    let limits = HistoryLimits::default();
    let bounded = [
        (limits.bytes(json.len() - 1), "bytes"),
        (limits.values(40), "values"),
        (limits.messages(4), "messages"),
        (limits.parts(5), "parts"),
    ];
    for (limits, what) in bounded {
        let error = History::from_json_within(&json, limits).expect_err("is too large");
        assert!(error.to_string().contains(what), "{error}");
    }
    let exact = limits.bytes(json.len()).messages(5).parts(6);
    assert!(History::from_json_within(&json, exact).is_ok());
}

#[test]
fn the_depth_of_a_stored_history_is_bounded() {
    let deep = |depth: usize| {
        let item = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        format!(
            r#"{{"version": 1, "messages": [{{"role": "assistant", "native": {{"provider": "p", "items": [{item}]}}}}]}}"#
        )
    };
    assert!(History::from_json(&deep(100)).is_ok());
    for depth in [129, 1_000_000] {
        assert_eq!(
            problems(&deep(depth)),
            ["expected at most 128 nested levels, got more"]
        );
    }
}

#[test]
fn what_is_no_json_is_refused() {
    for json in ["", "{", "{\"version\": 1,}", "[]]", "\u{0}"] {
        let found = problems(json);
        assert!(found[0].contains("expected JSON"), "{found:?}");
    }
}

#[test]
fn a_turn_that_nests_too_deep_is_not_stored() {
    let mut deep = json!([]);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let native = Some(RawTurn {
        provider: ProviderId::from_static("anthropic"),
        items: vec![deep],
    });
    let message = Message::Assistant {
        text: Some("Hi".into()),
        calls: Vec::new(),
        native: native.clone(),
    };
    assert_eq!(message.to_json(), r#"{"role":"assistant","text":"Hi"}"#);

    let step = ModelStep {
        native,
        ..ModelStep::says("Hi")
    };
    let json = serde_json::to_value(step).expect("serialises");
    assert!(json.get("native").is_none(), "{json}");
}

#[test]
fn a_message_has_the_form_that_it_has_in_a_history() {
    let history = history();
    let json = serde_json::to_value(&history).expect("serialises");
    for (place, message) in history.messages().iter().enumerate() {
        let written = serde_json::from_str::<Value>(&message.to_json()).expect("is JSON");
        assert_eq!(written, json["messages"][place]);
        assert_eq!(
            &Message::from_json(&message.to_json()).expect("is one"),
            message
        );
    }
}

#[test]
fn a_history_is_a_member_of_other_types() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "type")]
    enum Stored {
        Chat { title: String, history: History },
    }

    let chat = Stored::Chat {
        title: "Tables".into(),
        history: {
            let mut history = History::new();
            history.push(Message::user("Hi"));
            history
        },
    };
    let json = serde_json::to_string(&chat).expect("serialises");
    assert_eq!(serde_json::from_str::<Stored>(&json).expect("is one"), chat);
    let value = serde_json::to_value(&chat).expect("serialises");
    assert_eq!(
        serde_json::from_value::<Stored>(value).expect("is one"),
        chat
    );
}

#[test]
fn a_message_of_the_user_is_read_from_a_text_alone() {
    let read = serde_json::from_str::<UserMessage>(r#""Hi""#).expect("is a message");
    assert_eq!(read, UserMessage::new("Hi"));
    let error = serde_json::from_str::<UserMessage>("3").expect_err("is none");
    assert!(
        error.to_string().contains("a text or a list of parts"),
        "{error}"
    );
}

#[test]
fn a_step_survives_its_json() {
    let step = ModelStep {
        text: Some("I look.".into()),
        calls: vec![ToolCall::new("1", "add", "{\"a\": 1}")],
        native: Some(RawTurn {
            provider: ProviderId::from_static("anthropic"),
            items: vec![json!({"signature": "c2lnbmVk"})],
        }),
        usage: TokenUsage {
            input: 12,
            output: 3,
            ..TokenUsage::default()
        },
        model: Some("m-1".into()),
        service_tier: Some("flex".into()),
        response_id: Some("r-1".into()),
        finish: ReplyFinish::Length,
        max_tokens: Some(100),
        answered_by: Some(ModelInfo {
            model: "m".into(),
            provider: Some("anthropic".into()),
        }),
    };
    for step in [step, ModelStep::default()] {
        let json = serde_json::to_string(&step).expect("serialises");
        assert_eq!(
            serde_json::from_str::<ModelStep>(&json).expect("is one"),
            step
        );
    }
}

#[test]
fn a_reply_survives_its_json() {
    let reply = Reply {
        text: Some("Hi".into()),
        finish: ReplyFinish::Failed,
        steps: 2,
        usage: TokenUsage {
            input: 12,
            ..TokenUsage::default()
        },
        error: Some(ErrorBody {
            kind: ErrorKind::RateLimit,
            message: "wait".into(),
            retryable: true,
            partial_side_effects: false,
        }),
        ..Reply::default()
    };
    for reply in [reply, Reply::default()] {
        let json = serde_json::to_string(&reply).expect("serialises");
        assert_eq!(serde_json::from_str::<Reply>(&json).expect("is one"), reply);
    }
}

fn any_part() -> impl Strategy<Value = Content> {
    let resource = (
        ".*",
        proptest::option::of(".*"),
        proptest::option::of(".*"),
        proptest::option::of(".*"),
    );
    prop_oneof![
        ".+".prop_map(Content::text),
        ("[a-zA-Z0-9+/]*", ".*").prop_map(|(data, mime_type)| Content::image(data, mime_type)),
        ("[a-zA-Z0-9+/]*", ".*").prop_map(|(data, mime_type)| Content::audio(data, mime_type)),
        resource.prop_map(|(uri, mime_type, text, name)| Content::Resource {
            uri,
            mime_type,
            text,
            name,
        }),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((".*", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_call() -> impl Strategy<Value = ToolCall> {
    let arguments = prop_oneof![
        any_json().prop_map(|value| value.to_string()),
        any_json().prop_map(|value| format!("{{\"a\": {value:#}}}")),
        "\\{\"n\": -?[1-9][0-9]{0,60}(\\.[0-9]{1,40})?\\}",
        "[ {}\\[\\]\":,a0\\\\]*",
        ".*",
    ];
    (".*", ".*", arguments).prop_map(|(id, name, arguments)| ToolCall::new(id, name, arguments))
}

fn any_native() -> impl Strategy<Value = RawTurn> {
    let items = proptest::collection::vec(any_json(), 0..3);
    ("[a-z]{1,8}", items).prop_map(|(provider, items)| RawTurn {
        provider: ProviderId::new(provider),
        items,
    })
}

fn any_message() -> impl Strategy<Value = Message> {
    let parts = proptest::collection::vec(any_part(), 0..4);
    let calls = proptest::collection::vec(any_call(), 0..3);
    let native = proptest::option::of(any_native());
    let result = (".*", any::<[bool; 4]>());
    prop_oneof![
        parts.prop_map(|parts| Message::User(UserMessage::from(parts))),
        (proptest::option::of(".*"), calls, native).prop_map(|(text, calls, native)| {
            Message::Assistant {
                text,
                calls,
                native,
            }
        }),
        (".*", ".*", result).prop_map(|(call_id, tool, (text, flags))| Message::Result {
            call_id,
            tool,
            result: ModelResult {
                text,
                is_error: flags[0],
                reply: flags[1],
                parts: flags[2],
                is_text: flags[3],
                goes_on: false,
            },
        }),
    ]
}

proptest! {
    #[test]
    fn every_history_survives_its_json(messages in proptest::collection::vec(any_message(), 0..6)) {
        let mut history = History::new();
        history.extend(messages);
        let json = history.to_json();
        let read = History::from_json(&json);
        prop_assert_eq!(read.as_ref(), Ok(&history), "{}", json);
    }

    #[test]
    fn no_text_ends_the_reader(text in "[\\[\\]{}\":,a0 \\\\]*|.*") {
        let _ = History::from_json(&text);
        let wrapped = format!(r#"{{"version": 1, "messages": [{text}]}}"#);
        let _ = History::from_json(&wrapped);
    }
}
