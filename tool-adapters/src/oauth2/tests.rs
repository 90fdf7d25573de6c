//! The pure parts.

use crate::oauth2::client::OAuth2Client;
use crate::oauth2::error::answer;
use oauth2::http::StatusCode;
use tool_core::Secret;

fn read(variables: &[(&str, &str)]) -> Result<OAuth2Client, String> {
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    OAuth2Client::from_variables("GOOGLE", variable).map_err(|error| error.to_string())
}

#[test]
fn a_client_stands_in_the_environment() {
    let client = read(&[
        ("GOOGLE_CLIENT_ID", "id"),
        ("GOOGLE_CLIENT_SECRET", "hunter2"),
        ("GOOGLE_REDIRECT_URL", "https://app.example/cb"),
        ("GOOGLE_PARAMS", "access_type=offline&prompt=consent%20login"),
    ]);
    let client = client.expect("a client");
    assert_eq!((client.id.as_str(), client.redirect_url.as_str()), ("id", "https://app.example/cb"));
    assert_eq!(client.secret.as_ref().map(Secret::expose), Some("hunter2"));
    let params = [("access_type", "offline"), ("prompt", "consent login")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    assert_eq!(client.params, params);
    assert!(!format!("{client:?}").contains("hunter2"));
    let public = read(&[("GOOGLE_CLIENT_ID", "id"), ("GOOGLE_REDIRECT_URL", "app:/cb"), ("GOOGLE_CLIENT_SECRET", "")]);
    assert!(public.expect("a client").secret.is_none());
}

#[test]
fn every_variable_that_is_missing_is_named() {
    let begin = "the OAuth 2 client is set up wrongly: set the environment variables ";
    let told = |missing: &str| format!("{begin}{missing}");
    assert_eq!(read(&[]).expect_err("nothing"), told("`GOOGLE_CLIENT_ID` and `GOOGLE_REDIRECT_URL`"));
    assert_eq!(read(&[("GOOGLE_CLIENT_ID", "id")]).expect_err("no URL"), told("`GOOGLE_REDIRECT_URL`"));
    assert_eq!(
        read(&[("GOOGLE_REDIRECT_URL", "x"), ("GOOGLE_CLIENT_ID", " ")]).expect_err("no id"),
        told("`GOOGLE_CLIENT_ID`")
    );
}

#[test]
fn answers_come_to_the_standards_form() {
    for (status, body, expected, form) in [
        (200, r#"{"access_token":"a","token_type":"x"}"#, 200, r#"{"access_token":"a","token_type":"x"}"#),
        (201, r#"{"access_token":"a"}"#, 200, r#"{"access_token":"a","token_type":"bearer"}"#),
        (
            200,
            r#"{"access_token":"a","expires_in":"60"}"#,
            200,
            r#"{"access_token":"a","expires_in":60,"token_type":"bearer"}"#,
        ),
        (200, r#"{"access_token":"a","expires_in":-1}"#, 200, r#"{"access_token":"a","token_type":"bearer"}"#),
        (200, r#"{"error":"bad"}"#, 400, r#"{"error":"bad"}"#),
        (400, r#"{"error":"bad"}"#, 400, r#"{"error":"bad"}"#),
        (400, r#"{"access_token":"a"}"#, 400, r#"{"access_token":"a","token_type":"bearer"}"#),
        (200, "[1]", 200, "[1]"),
        (200, "no JSON", 200, "no JSON"),
    ] {
        let (status, answer) = answer(StatusCode::from_u16(status).expect("a status"), body.as_bytes());
        assert_eq!((status.as_u16(), String::from_utf8_lossy(&answer).as_ref()), (expected, form), "{body}");
    }
}
