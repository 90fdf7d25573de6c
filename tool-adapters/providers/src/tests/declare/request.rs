//! Declarations and reports of many tools.

use crate::Provider;
use crate::declarations::{Declarations, DeclareOptions};
use crate::declare::{declare, declare_tools};
use crate::tests::declare::golden::GoldenLimits;
use crate::tests::declare::support::{declared, definitions, echo, json_of, raw};
use serde_json::{Value, json};
use std::ptr;
use tool_core::{ToolCall, ToolContext, tool};

/// Many parameters, out of their alphabetical order.
#[allow(
    clippy::needless_pass_by_value,
    reason = "a tool as its author writes it"
)]
#[tool]
fn ordered(zulu: String, alpha: i64, #[arg(default = 3)] mike: i64) -> String {
    format!("{zulu}{alpha}{mike}")
}

fn plain(provider: Provider, tools: &[tool_core::FunctionTool]) -> Declarations {
    declared(provider, tools, &[], DeclareOptions::default())
}

#[test]
fn without_tools_the_list_is_empty() {
    for provider in Provider::ALL {
        let declared = plain(provider, &[]);
        assert!(declared.is_empty(), "{provider}");
        assert_eq!(declared.json().get(), "[]");
    }
}

#[test]
fn the_second_time_is_a_clone_of_the_first() {
    let tools = ToolContext::builder()
        .with(echo("say"))
        .build()
        .expect("a context");
    let first = declare(Provider::Gemini, &tools);
    let second = declare(Provider::Gemini, &tools);
    assert!(ptr::eq(first.json(), second.json()));
}

#[test]
fn parameters_stand_in_the_order_of_the_signature() {
    let tools = ToolContext::builder()
        .with(ordered)
        .build()
        .expect("a context");
    for provider in Provider::ALL {
        for strict in [false, true] {
            let options = DeclareOptions {
                strict,
                ..DeclareOptions::default()
            };
            let declared = declare_tools(provider, tools.definitions(), &[], options);
            let text = declared.json().get();
            let at = |name: &str| text.find(&format!(r#""{name}":"#)).expect("declared");
            assert!(
                at("zulu") < at("alpha") && at("alpha") < at("mike"),
                "{provider}: {text}"
            );
        }
    }
}

#[test]
fn gemini_leaves_empty_parameters_out() {
    let map =
        json!({"type": "object", "additionalProperties": {"type": "string"}, "description": "Any"});
    for parameters in [json!({"type": "object", "properties": {}}), map] {
        let tools = [raw("now", "The time.", parameters)];
        for provider in [
            Provider::Gemini,
            Provider::GeminiJsonSchema,
            Provider::GeminiLive,
        ] {
            let json = json_of(&plain(provider, &tools));
            assert_eq!(
                json,
                json!([{"functionDeclarations": [{"name": "now", "description": "The time."}]}])
            );
        }
    }
}

#[test]
fn bedrock_is_given_a_description_where_there_is_none() {
    let silent = raw("now", "", json!({"type": "object"}));
    let titled = raw("then", " ", json!({"type": "object"}));
    let json = json_of(&plain(
        Provider::Bedrock,
        &[silent, titled.title("The past")],
    ));
    assert_eq!(json[0]["toolSpec"]["description"], "now");
    assert_eq!(json[1]["toolSpec"]["description"], "The past");
}

#[test]
fn more_tools_than_a_provider_takes_is_a_warning() {
    let many = |count: usize| {
        let tools = (0..count).map(|at| echo(&format!("say_{at}")));
        tools.collect::<Vec<_>>()
    };
    for provider in Provider::ALL {
        let warnings = |count| plain(provider, &many(count)).report().warnings.clone();
        let Some(most) = GoldenLimits::read(provider).tools else {
            assert_eq!(warnings(513), [""; 0], "{provider}");
            continue;
        };
        assert_eq!(warnings(most), [""; 0], "{provider}");
        let told = warnings(most + 1);
        let [warning] = told.as_slice() else {
            panic!("{provider}: {told:?}");
        };
        let count = (most + 1).to_string();
        assert!(
            warning.contains(&count) && warning.contains(&most.to_string()),
            "{provider}: {warning}"
        );
    }
}

#[test]
fn a_list_of_ten_thousand_tools_works() {
    let tools = (0..10_000)
        .map(|at| echo(&format!("files.say:{at}")))
        .collect::<Vec<_>>();
    for provider in [Provider::OpenAiChat, Provider::GeminiLive, Provider::Mcp] {
        let declared = plain(provider, &tools);
        let json = json_of(&declared);
        let list = json[0].get("functionDeclarations").unwrap_or(&json);
        assert_eq!(list.as_array().map(Vec::len), Some(10_000), "{provider}");
        let wire = declared.wire_name("files.say:9999").expect("declared");
        assert_eq!(declared.tool_name(wire), Some("files.say:9999"));
    }
}

#[test]
fn a_call_comes_back_under_the_tools_name_with_its_session() {
    let declared = plain(Provider::OpenAiChat, &[echo("files.read")]);
    let call = ToolCall::new("1", "files_read", r#"{"text": 1.0}"#).in_session("s");
    let restored = declared.restore(call);
    assert_eq!(
        (restored.id(), restored.name(), restored.arguments()),
        ("1", "files.read", r#"{"text": 1.0}"#)
    );
    assert_eq!(restored.session(), Some("s"));
}

#[test]
fn a_call_of_what_is_not_declared_stays() {
    let declared = plain(Provider::OpenAiChat, &[echo("files.read")]);
    let call = ToolCall::new("1", "files.write", "{broken");
    assert_eq!(declared.restore(call.clone()), call);
}

#[test]
fn a_name_that_is_not_declared_can_be_written_all_the_same() {
    let declared = plain(Provider::OpenAiChat, &[echo("files.read")]);
    assert_eq!(declared.written_name("files.read"), "files_read");
    assert_eq!(declared.written_name("files.gone"), "files_gone");
}

#[test]
fn declarations_know_the_tools_that_they_are_of() {
    let tools = [echo("a"), echo("b")];
    let declared = plain(Provider::Mcp, &tools);
    assert!(declared.of_same_tools(&definitions(&tools)));
    assert!(!declared.of_same_tools(&definitions(&tools[..1])));
    assert!(!declared.of_same_tools(&definitions(&[echo("a"), echo("b")])));
}

#[test]
fn the_report_says_what_a_declaration_costs() {
    let declared = plain(Provider::Anthropic, &[echo("say")]);
    let item = &json_of(&declared)[0];
    assert_eq!(
        declared.report().tools[0].tokens,
        Value::to_string(item).chars().count().div_ceil(4)
    );
}
