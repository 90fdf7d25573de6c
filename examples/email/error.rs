//! What can go wrong on the way to a mail server, and how it is told.

use super::mailer::Login;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use lettre::transport::smtp::Error as SmtpError;
use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;
use tool_core::ToolError;
use tool_core::text::truncate;

/// What can go wrong, in words for the model. The attribute sorts each into an error type of the envelope.
#[derive(Debug, ToolError)]
pub(crate) enum EmailError {
    #[tool_error(kind = "auth")]
    Denied(String),
    #[tool_error(kind = "rate_limit", retryable)]
    TooMany(String),
    #[tool_error(kind = "transient", retryable)]
    Unavailable(String),
    /// The message was sent and no answer came. It is not retryable, or it might arrive twice.
    #[tool_error(kind = "transient", retryable = false, partial_side_effects)]
    Unknown(String),
    #[tool_error(kind = "permanent")]
    Refused(String),
    /// Something of ours broke: the log is told, the model is not.
    #[tool_error(kind = "internal")]
    Broken(String),
}

impl fmt::Display for EmailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(why) => write!(f, "{why}; the message may have been sent, do not send it again"),
            Self::Denied(why)
            | Self::TooMany(why)
            | Self::Unavailable(why)
            | Self::Refused(why)
            | Self::Broken(why) => f.write_str(why),
        }
    }
}

/// How far the conversation got.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Step {
    Connect,
    Login,
    Sender,
    Recipient,
    Data,
    /// The message itself. Whatever breaks from here on, the server may have it.
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

/// What a failed step means: by the server's code, where it gave one.
pub(crate) fn failed(step: Step, error: &SmtpError, login: Option<&Login>) -> EmailError {
    let why = cause(error);
    let Some(code) = error.status() else { return no_answer(step, error, &why) };
    // A server that repeats the password in its answer is not quoted.
    let quoted = !login.is_some_and(|login| repeats(&why, login));
    let said = if quoted { format!("{code} {}", truncate(&plain(&why), 300)) } else { code.to_string() };
    let told = format!("{}: {said}", step.refused());
    match code.to_string().as_str() {
        _ if too_many(&why) => EmailError::TooMany(told),
        _ if error.is_transient() => EmailError::Unavailable(told),
        "530" | "534" | "535" | "538" => EmailError::Denied(told),
        _ if step == Step::Login => EmailError::Denied(told),
        _ => EmailError::Refused(told),
    }
}

/// Whether the password stands there, as it is or as it was sent.
fn repeats(said: &str, Login { user_name, password }: &Login) -> bool {
    let password = password.expose();
    // AUTH PLAIN and AUTH LOGIN.
    let sent = [format!("\0{user_name}\0{password}"), password.to_owned()];
    let sent = sent.map(|sent| STANDARD_NO_PAD.encode(sent));
    [password].into_iter().chain(sent.iter().map(String::as_str)).any(|form| said.contains(form))
}

/// What it means that a step was not done in time.
pub(crate) fn timed_out(step: Step, limit: Duration) -> EmailError {
    lost(step, format!("the mail server did not answer within {} s", limit.as_secs()))
}

fn no_answer(step: Step, error: &SmtpError, why: &str) -> EmailError {
    match step {
        // STARTTLS that is not offered, a login that is not: neither comes by waiting.
        Step::Connect if error.is_client() => EmailError::Refused(format!("the mail server does not fit: {why}")),
        Step::Login if error.is_client() => EmailError::Denied(format!("no login at the mail server: {why}")),
        Step::Connect if is_untrusted(error) => {
            EmailError::Refused(format!("no secure connection to the mail server: {why}"))
        }
        Step::Connect => EmailError::Unavailable(format!("the mail server cannot be reached: {why}")),
        _ => lost(step, format!("the mail server did not answer: {why}")),
    }
}

fn lost(step: Step, why: String) -> EmailError {
    if step == Step::Content { EmailError::Unknown(why) } else { EmailError::Unavailable(why) }
}

/// Servers have no code for "slow down" and say it in words, some beside 4xx and some beside 5xx.
/// `X.7.28` is RFC 7372's neighbour in the registry of enhanced codes: a flood was detected.
fn too_many(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    // A mailbox that is full is the recipient's affair.
    let mailbox = said.contains("mailbox") || said.contains(".2.2 ");
    let words = ["rate limit", "too many", "throttl", "sending limit", "sending rate", "quota exceeded", ".7.28 "];
    !mailbox && words.iter().any(|words| said.contains(words))
}

/// Whether TLS itself failed, most of the time because of the certificate.
fn is_untrusted(error: &SmtpError) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::InvalidData) {
            return true;
        }
        source = error.source();
    }
    false
}

/// The innermost reason, such as `Connection refused`: the outer ones only say that a step failed.
fn cause(error: &SmtpError) -> String {
    let mut reason: &dyn Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

/// On one line.
fn plain(said: &str) -> String {
    said.split(char::is_control).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // THREATS: secrets in errors
    #[test]
    fn a_server_that_echoes_a_login_as_it_was_sent_is_not_quoted() {
        let login = Login { user_name: "ada".into(), password: "canary-7c1f".into() };
        for said in ["no canary-7c1f", "AUTH PLAIN AGFkYQBjYW5hcnktN2MxZg==", "Y2FuYXJ5LTdjMWY="] {
            assert!(repeats(said, &login), "{said}");
        }
        assert!(!repeats("5.7.8 the password is wrong", &login));
    }
}
