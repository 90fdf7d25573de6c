//! The envelope's JSON, both ways.

use crate::call::cut::{SizeUnit, Truncated};
use crate::call::error::{ErrorBody, ErrorKind};
use crate::call::intent::Intent;
use crate::call::meta::Slim;
use crate::call::output::OutputKind;
use crate::call::response::{Raw, ToolResponse};
use serde_json::json;
use serde_json::value::RawValue;
use std::time::Duration;

fn success(data: &str) -> ToolResponse {
    ToolResponse {
        body: Ok(data.to_owned()),
        form: OutputKind::Data,
        slim: Slim { tool: "t".into(), call_id: Some("c".into()), duration: Duration::from_micros(1234), rare: None },
    }
}

fn failure() -> ToolResponse {
    let error =
        ErrorBody { kind: ErrorKind::RateLimit, message: "wait".into(), retryable: true, partial_side_effects: false };
    ToolResponse { body: Err(Box::new(error)), ..success("") }
}

// R-E1
#[test]
fn a_success_serialises_to_ok_data_intents_and_meta() {
    let text = success(r#"{"größe":"é"}"#).to_json();
    assert_eq!(
        text,
        r#"{"ok":true,"data":{"größe":"é"},"intents":[],"meta":{"schemaVersion":"1.0.0","tool":"t","callId":"c","durationMs":1.234,"sizeChars":13,"tokenEstimate":4}}"#
    );
}

// R-E1
#[test]
fn a_failure_serialises_to_ok_error_and_meta() {
    let value = serde_json::to_value(failure()).expect("serialises");
    assert_eq!(
        value["error"],
        json!({"type": "RATE_LIMIT", "message": "wait", "retryable": true, "partialSideEffects": false})
    );
    assert_eq!(value["ok"], json!(false));
    assert!(value.get("data").is_none() && value.get("intents").is_none());
}

#[test]
fn raw_data_is_written_as_serde_json_writes_a_raw_value() {
    let raw = RawValue::from_string(r#"{"a":[1,2.50]}"#.to_owned()).expect("json");
    assert_eq!(
        serde_json::to_string(&Raw(raw.get())).expect("serialises"),
        serde_json::to_string(&raw).expect("serialises")
    );
    assert_eq!(
        serde_json::to_value(Raw(raw.get())).expect("serialises"),
        serde_json::to_value(&raw).expect("serialises")
    );
}

// R-E1
#[test]
fn a_response_survives_its_own_json() {
    let mut rich = success("[1,2]");
    let rare = rich.rare();
    rare.intents = vec![Intent::SetPendingMessage("hi".into()), Intent::SuppressAudio];
    rare.coerced = vec!["/a: text to integer".into()];
    rare.warnings = vec!["slow".into()];
    rare.extra.insert("source".into(), json!("cache"));
    rare.truncated = Some(Truncated { limit: 10, unit: SizeUnit::Characters, total: Some(20) });
    for response in [success("null"), success("{}"), failure(), rich] {
        let back: ToolResponse = serde_json::from_str(&response.to_json()).expect("parses");
        assert_eq!(back, response);
    }
}

fn meant(form: OutputKind, empty: Option<bool>) -> ToolResponse {
    let mut response = ToolResponse { form, ..success("[]") };
    if empty.is_some() {
        response.rare().empty = empty;
    }
    response
}

// R-E1, L18: what is resumed in another process is still no reply, and still counts as empty
#[test]
fn how_a_result_is_meant_survives_its_json() {
    for form in [OutputKind::Data, OutputKind::Unit, OutputKind::Content, OutputKind::Stop] {
        for empty in [None, Some(true), Some(false)] {
            let response = meant(form, empty);
            let back: ToolResponse = serde_json::from_str(&response.to_json()).expect("parses");
            assert_eq!((back.form(), back.slim.rare.as_ref().and_then(|rare| rare.empty)), (form, empty));
            assert_eq!(back, response);
        }
    }
    assert_ne!(meant(OutputKind::Stop, None), meant(OutputKind::Data, None));
}

// R-E1
#[test]
fn a_form_of_a_later_version_reads_as_data() {
    let text = meant(OutputKind::Stop, None).to_json().replace("stop", "hologram");
    assert_eq!(serde_json::from_str::<ToolResponse>(&text).expect("parses").form(), OutputKind::Data);
}

// R-E1
#[test]
fn a_tool_cannot_pass_its_result_off_as_a_stop() {
    let mut response = success("1");
    response.rare().extra.insert("form".into(), json!("stop"));
    response.rare().extra.insert("empty".into(), json!("not even a boolean"));
    let back: ToolResponse = serde_json::from_str(&response.to_json()).expect("parses");
    assert_eq!((back.form(), back.meta().extra("form")), (OutputKind::Data, None));
}

// R-E1
#[test]
fn every_kind_of_response_satisfies_the_published_schema() {
    let validator = jsonschema::validator_for(&ToolResponse::json_schema()).expect("a schema");
    let meant = [meant(OutputKind::Unit, None), meant(OutputKind::Content, None), meant(OutputKind::Stop, Some(true))];
    for response in [success("{}"), failure()].into_iter().chain(meant) {
        let value = serde_json::to_value(response).expect("serialises");
        assert!(validator.is_valid(&value), "{value}");
    }
}
