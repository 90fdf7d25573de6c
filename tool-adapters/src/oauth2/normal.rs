//! Answers of token endpoints in the standard's form, as providers have their own ways.

use oauth2::http::StatusCode;
use serde_json::{Value, json};
use tool_core::tool::SecretDocument;

/// An answer as RFC 6749 wants it. Some providers tell errors with status 200 (GitHub), success with 201, leave the
/// type of the token out, or write its lifetime as a text (Microsoft's older endpoint) or a fraction. What is no JSON
/// object stays as it is.
pub(super) fn answer(status: StatusCode, body: &[u8]) -> (StatusCode, Vec<u8>) {
    let Ok(Value::Object(mut members)) = serde_json::from_slice::<Value>(body) else {
        return (status, body.to_vec());
    };
    let has_token = members.get("access_token").is_some_and(|token| !token.is_null());
    let status = match status {
        success if success.is_success() && has_token => StatusCode::OK,
        success if success.is_success() && members.contains_key("error") => StatusCode::BAD_REQUEST,
        other => other,
    };
    if has_token {
        members.entry("token_type").or_insert_with(|| json!("bearer"));
        if let Some(lifetime) = members.get_mut("expires_in") {
            *lifetime = seconds(lifetime).map_or(Value::Null, Value::from);
        }
        // Without it, `null` for a refresh token that there is none of would be no text.
        members.retain(|_, value| !value.is_null());
    }
    // Wipes what it is made of.
    (status, SecretDocument::from_value(Value::Object(members)).expose().into())
}

fn seconds(lifetime: &Value) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // floored; what is out of range is cut to it
    let whole = |number: f64| (number.is_finite() && number >= 0.0).then_some(number as u64);
    lifetime.as_u64().or_else(|| lifetime.as_f64().and_then(whole)).or_else(|| lifetime.as_str()?.trim().parse().ok())
}
