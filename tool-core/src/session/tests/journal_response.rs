//! The form of long responses in the journal.

use crate::call::ToolResponse;
use crate::session::journal_response::{MAX_RESPONSE, bounded};

fn kept(response: &str) -> ToolResponse {
    let kept = bounded(response);
    assert!(kept.len() < MAX_RESPONSE);
    serde_json::from_str(&kept).unwrap()
}

#[test]
fn response_of_64_kib_is_kept_whole() {
    let response = "x".repeat(MAX_RESPONSE);
    assert_eq!(bounded(&response), response);
}

#[test]
fn longer_response_is_kept_as_a_success() {
    let data = "x".repeat(MAX_RESPONSE);
    let kept = kept(&format!(
        r#"{{"ok":true,"data":"{data}","intents":[],"meta":{{"tool":"find","callId":"c","durationMs":1.5}}}}"#
    ));
    assert!(kept.is_ok());
    assert_eq!(kept.data_json(), Some("null"));
    assert_eq!(
        (kept.meta().tool(), kept.meta().call_id()),
        ("find", Some("c"))
    );
    assert!(
        kept.meta().warnings()[0].contains("too large to be kept"),
        "{:?}",
        kept.meta().warnings()
    );
}

#[test]
fn longer_response_loses_its_parts_before_its_data() {
    let parts = "x".repeat(MAX_RESPONSE);
    let kept = kept(&format!(
        r#"{{"ok":true,"data":123456789012345678901,"meta":{{"tool":"f"}},"content":[{{"type":"text","text":"{parts}"}}]}}"#
    ));
    assert_eq!(
        (kept.data_json(), kept.clone().into_text().as_str()),
        (Some("123456789012345678901"), "123456789012345678901")
    );
    assert_eq!(kept.meta().warnings(), [""; 0]);
}

#[test]
fn longer_response_is_kept_with_its_error() {
    let message = "é".repeat(MAX_RESPONSE);
    let kept = kept(&format!(
        r#"{{"ok":false,"error":{{"type":"CONFLICT","message":"{message}","retryable":true,"partialSideEffects":true}},
        "meta":{{"tool":"find"}}}}"#
    ));
    let error = kept.error().unwrap();
    assert_eq!(error.message.chars().count(), 1_000);
    assert!(error.retryable && error.partial_side_effects);
}
