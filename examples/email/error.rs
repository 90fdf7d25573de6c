//! The errors of mail, and their kinds.

use super::mailer::Login;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use lettre::transport::smtp::Error as SmtpError;
use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;
use tool_adapters::egress::EgressError;
use tool_core::call::IntoToolError;
use tool_core::text::truncate;
use tool_core::{ErrorKind, ToolError};

/// An error of sending or reading mail. The message is for the model, and the attribute sets the kind.
#[derive(Debug, ToolError)]
pub(crate) enum EmailError {
    #[tool_error(kind = "auth")]
    Denied(String),
    #[tool_error(kind = "rate_limit", retryable)]
    TooMany(String),
    #[tool_error(kind = "transient", retryable)]
    Unavailable(String),
    /// The message was sent and no answer arrived. It is not retryable, as the message could arrive twice.
    #[tool_error(kind = "transient", retryable = false, partial_side_effects)]
    Unknown(String),
    #[tool_error(kind = "permanent")]
    Refused(String),
    /// An internal error, which is logged and hidden from the model.
    #[tool_error(kind = "internal")]
    Broken(String),
}

impl fmt::Display for EmailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(why) => write!(
                f,
                "{why}; the message may have been sent, do not send it again"
            ),
            Self::Denied(why)
            | Self::TooMany(why)
            | Self::Unavailable(why)
            | Self::Refused(why)
            | Self::Broken(why) => f.write_str(why),
        }
    }
}

/// The steps of the conversation.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Step {
    Connect,
    Login,
    Sender,
    Recipient,
    Data,
    /// The message itself. From here on the server may have it.
    Content,
}

impl Step {
    fn refused(self) -> &'static str {
        match self {
            Self::Connect => "the mail server refused the connection",
            Self::Login => "the mail server refused the login",
            Self::Sender => "the mail server refused the sender",
            Self::Recipient => "the mail server refused the recipient",
            Self::Data | Self::Content => "the mail server refused the message",
        }
    }
}

/// Converts the error of a server whose address is refused or unknown.
pub(crate) fn unreachable(error: EgressError) -> EmailError {
    let message = format!("the mail server cannot be reached: {error}");
    if error.into_tool_error().kind() == ErrorKind::Transient {
        EmailError::Unavailable(message)
    } else {
        EmailError::Refused(message)
    }
}

/// Converts the error of a step, by the code of the server if there is one.
pub(crate) fn failed(step: Step, error: &SmtpError, login: Option<&Login>) -> EmailError {
    let why = cause(error);
    let Some(code) = error.status() else {
        return no_answer(step, error, &why);
    };
    // An answer that repeats the password is not quoted.
    let quoted = !login.is_some_and(|login| repeats(&why, login));
    let said = if quoted {
        format!("{code} {}", truncate(&plain(&why), 300))
    } else {
        code.to_string()
    };
    let told = format!("{}: {said}", step.refused());
    match code.to_string().as_str() {
        _ if too_many(&why) => EmailError::TooMany(told),
        _ if error.is_transient() => EmailError::Unavailable(told),
        "530" | "534" | "535" | "538" => EmailError::Denied(told),
        _ if step == Step::Login => EmailError::Denied(told),
        _ => EmailError::Refused(told),
    }
}

/// Returns whether the text contains the password, plain or encoded.
pub(crate) fn repeats(
    said: &str,
    Login {
        user_name,
        password,
    }: &Login,
) -> bool {
    let password = password.expose();
    // The encodings of AUTH PLAIN and AUTH LOGIN.
    let sent = [format!("\0{user_name}\0{password}"), password.to_owned()];
    let sent = sent.map(|sent| STANDARD_NO_PAD.encode(sent));
    [password]
        .into_iter()
        .chain(sent.iter().map(String::as_str))
        .any(|form| said.contains(form))
}

/// Makes the error for a step that timed out.
pub(crate) fn timed_out(step: Step, limit: Duration) -> EmailError {
    lost(
        step,
        format!(
            "the mail server did not answer within {} s",
            limit.as_secs()
        ),
    )
}

fn no_answer(step: Step, error: &SmtpError, why: &str) -> EmailError {
    match step {
        // A server without STARTTLS or login will not offer them later.
        Step::Connect if error.is_client() => {
            EmailError::Refused(format!("the mail server does not fit: {why}"))
        }
        Step::Login if error.is_client() => {
            EmailError::Denied(format!("no login at the mail server: {why}"))
        }
        Step::Connect if is_untrusted(error) => {
            EmailError::Refused(format!("no secure connection to the mail server: {why}"))
        }
        Step::Connect => {
            EmailError::Unavailable(format!("the mail server cannot be reached: {why}"))
        }
        _ => lost(step, format!("the mail server did not answer: {why}")),
    }
}

fn lost(step: Step, why: String) -> EmailError {
    if step == Step::Content {
        EmailError::Unknown(why)
    } else {
        EmailError::Unavailable(why)
    }
}

/// Servers have no code for rate limits and use words instead, with 4xx or 5xx codes.
/// The enhanced code `X.7.28` means that a mail flood was detected.
fn too_many(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    // A full mailbox is not a rate limit.
    let mailbox = said.contains("mailbox") || said.contains(".2.2 ");
    let words = [
        "rate limit",
        "too many",
        "throttl",
        "sending limit",
        "sending rate",
        "quota exceeded",
        ".7.28 ",
    ];
    !mailbox && words.iter().any(|words| said.contains(words))
}

/// Returns whether TLS failed, usually because of the certificate.
fn is_untrusted(error: &SmtpError) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        if error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::InvalidData)
        {
            return true;
        }
        source = error.source();
    }
    false
}

/// Returns the innermost cause, such as `Connection refused`. The outer errors only say that a step failed.
fn cause(error: &SmtpError) -> String {
    let mut reason: &dyn Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

/// Joins the text to one line.
fn plain(said: &str) -> String {
    said.split(char::is_control)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // T1
    #[test]
    fn echoed_login_is_not_quoted() {
        let login = Login {
            user_name: "ada".into(),
            password: "canary-7c1f".into(),
        };
        for said in [
            "no canary-7c1f",
            "AUTH PLAIN AGFkYQBjYW5hcnktN2MxZg==",
            "Y2FuYXJ5LTdjMWY=",
        ] {
            assert!(repeats(said, &login), "{said}");
        }
        assert!(!repeats("5.7.8 the password is wrong", &login));
    }
}
