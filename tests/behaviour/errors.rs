//! Errors, and the part of them that the model reads.

use crate::support::{call, failure, tools};
use serde_json::json;
use std::cell::RefCell;
use std::fmt;
use std::sync::Once;
use tool_core::{ErrorKind, RunContext, ToolContext, ToolError, tool};

/// Domain errors.
#[derive(Debug, tool_core::ToolError)]
#[tool_error(kind = "transient")]
enum Weather {
    #[tool_error(kind = "rate_limit", retryable = false)]
    Busy {
        seconds: u32,
    },
    Down,
    #[tool_error(kind = "conflict", partial_side_effects)]
    Half(String),
}

impl fmt::Display for Weather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { seconds } => write!(f, "wait {seconds} s"),
            Self::Down => f.write_str("try again"),
            Self::Half(what) => write!(f, "half done: {what}"),
        }
    }
}

#[derive(Debug)]
struct Library;

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("secret-canary in a library's error")
    }
}

impl std::error::Error for Library {}

/// Fail.
#[tool(category = "action")]
fn fail(how: &str) -> Result<(), Weather> {
    Err(match how {
        "busy" => Weather::Busy { seconds: 3 },
        "down" => Weather::Down,
        _ => Weather::Half(how.to_owned()),
    })
}

/// Fail.
#[tool]
fn fail_text() -> Result<(), &'static str> {
    Err("no such city")
}

/// Fail.
#[tool]
fn fail_library() -> Result<(), Library> {
    Err(Library)
}

/// Fail.
#[tool]
fn fail_anyhow() -> Result<(), anyhow::Error> {
    Err(anyhow::Error::new(Library).context("outer"))
}

/// Fail.
#[tool]
fn fail_boxed() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Err("secret-canary".into())
}

/// Fail.
#[tool]
fn fail_internally() -> Result<(), ToolError> {
    Err(ToolError::internal("secret-canary"))
}

/// Panic.
#[tool]
fn panic_now(why: String) -> u8 {
    panic!("secret-canary {why}")
}

/// Panic.
#[tool(category = "retrieval")]
async fn panic_later() -> u8 {
    tokio::task::yield_now().await;
    panic!("secret-canary")
}

// R-E2, R-E3, D11
#[test]
fn derived_error_has_display_kind_and_flags_of_its_variant() {
    let tools = tools(fail);
    let of = |how: &str| {
        let error = call(&tools, "fail", json!({"how": how}))
            .error()
            .expect("fails")
            .clone();
        (
            error.kind,
            error.message,
            error.retryable,
            error.partial_side_effects,
        )
    };
    assert_eq!(
        of("busy"),
        (ErrorKind::RateLimit, "wait 3 s".into(), false, false)
    );
    assert_eq!(
        of("down"),
        (ErrorKind::Transient, "try again".into(), true, false)
    );
    assert_eq!(
        of("x"),
        (ErrorKind::Conflict, "half done: x".into(), false, true)
    );
}

// D11
#[test]
fn string_error_is_shown_to_the_model() {
    assert_eq!(
        failure(&tools(fail_text), "fail_text", "{}"),
        (ErrorKind::Permanent, "no such city".into())
    );
}

// D11, T1
#[test]
fn foreign_error_goes_to_the_log_only() {
    let tools = ToolContext::builder()
        .with(fail_library)
        .with(fail_anyhow)
        .with(fail_boxed)
        .with(fail_internally)
        .build()
        .expect("sound");
    for name in [
        "fail_library",
        "fail_anyhow",
        "fail_boxed",
        "fail_internally",
    ] {
        let (response, log) = logged(|| call(&tools, name, "{}"));
        let envelope = response.to_json();
        assert_eq!(
            response.error().map(|error| error.kind),
            Some(ErrorKind::Internal),
            "{envelope}"
        );
        assert!(
            !envelope.contains("canary") && envelope.contains("An internal error occurred"),
            "{envelope}"
        );
        assert!(log.contains("canary"), "{name}: {log}");
    }
}

// L18, R-E3, T6
#[test]
fn panic_is_answered_and_the_next_call_works() {
    let tools = ToolContext::builder()
        .with(panic_now)
        .with(panic_later)
        .with(fail_text)
        .build()
        .expect("sound");
    let (response, log) = logged(|| call(&tools, "panic_now", json!({"why": "\u{1b}[31mred"})));
    let error = response.error().expect("panicked");
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Internal, "An internal error occurred")
    );
    assert!(error.partial_side_effects, "its progress is unknown");
    assert!(
        log.contains("canary") && !log.contains('\u{1b}'),
        "the log is escaped: {log}"
    );
    let later = call(&tools, "panic_later", "{}");
    assert!(
        !later.error().expect("panicked").partial_side_effects,
        "a retrieval leaves nothing behind"
    );
    assert_eq!(failure(&tools, "fail_text", "{}").0, ErrorKind::Permanent);
}

// T6
#[test]
fn every_one_of_10_000_panics_is_answered() {
    let tools = tools(panic_later);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let ctx = RunContext::detached();
    let answered = crate::support::block_on(async {
        let mut answered = 0;
        for _ in 0..10_000 {
            answered += usize::from(
                tools
                    .call("panic_later", "{}", &ctx)
                    .await
                    .error()
                    .is_some(),
            );
        }
        answered
    });
    std::panic::set_hook(hook);
    assert_eq!(answered, 10_000);
}

// R-E3
#[test]
fn refusal_before_execution_has_no_side_effects() {
    let tools = tools(fail);
    for (name, arguments) in [("fail", "{}"), ("fail", "not json"), ("nobody", "{}")] {
        let response = call(&tools, name, arguments);
        let error = response.error().expect("refused");
        assert!(!error.retryable && !error.partial_side_effects, "{error:?}");
    }
}

thread_local! {
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A subscriber that writes to the log of the current thread, so that tests do not mix.
struct ThreadLog;

impl std::io::Write for ThreadLog {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.with_borrow_mut(|log| log.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs `work` and returns what this thread logged meanwhile.
fn logged<T>(work: impl FnOnce() -> T) -> (T, String) {
    static SUBSCRIBED: Once = Once::new();
    SUBSCRIBED.call_once(|| {
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(|| ThreadLog)
            .init();
    });
    LOG.with_borrow_mut(Vec::clear);
    let result = work();
    (
        result,
        LOG.with_borrow(|log| String::from_utf8(log.clone()).expect("UTF-8")),
    )
}

/// Read a number; the model sees why it is refused.
#[tool(errors = "show")]
fn read_shown(text: &str) -> Result<u8, std::num::ParseIntError> {
    text.parse()
}

/// Read a number later.
#[tool(errors = "show")]
async fn read_shown_later(text: &str) -> anyhow::Result<u8> {
    use anyhow::Context as _;
    text.parse().context("no number")
}

/// Keep the kind of an error that is shown already.
#[tool(errors = "show")]
fn keep_kind() -> Result<(), ToolError> {
    Err(ToolError::conflict(format_args!("{} is taken", 7)))
}

/// Convert any error with `?`.
#[tool]
fn convert(which: &str) -> Result<u8, ToolError> {
    match which {
        "text" => Err("the text is missing")?,
        "string" => Err(format!("{which} is missing"))?,
        "anyhow" => Err(anyhow::anyhow!("canary"))?,
        "boxed" => Err(Box::<dyn std::error::Error + Send + Sync>::from("canary"))?,
        "tool" => Err(ToolError::auth("log in"))?,
        _ => {}
    }
    Ok(which.parse::<u8>()?)
}

/// Show one error of another crate.
#[tool]
fn show_one(text: &str) -> Result<u8, ToolError> {
    use tool_core::ResultExt as _;
    text.parse::<u8>().show_error()
}

#[test]
fn tool_shows_the_text_of_any_error_on_request() {
    let tools = ToolContext::builder()
        .with(read_shown)
        .with(read_shown_later)
        .with(keep_kind)
        .with(show_one)
        .build()
        .expect("sound");
    let said = |name: &str| failure(&tools, name, r#"{"text":"x"}"#);
    assert_eq!(
        said("read_shown"),
        (
            ErrorKind::Permanent,
            "invalid digit found in string".to_owned()
        )
    );
    assert_eq!(
        said("read_shown_later"),
        (
            ErrorKind::Permanent,
            "no number: invalid digit found in string".to_owned()
        )
    );
    assert_eq!(
        said("show_one"),
        (
            ErrorKind::Permanent,
            "invalid digit found in string".to_owned()
        )
    );
    assert_eq!(
        failure(&tools, "keep_kind", "{}"),
        (ErrorKind::Conflict, "7 is taken".to_owned())
    );
}

#[test]
fn question_mark_converts_any_error_and_masks_it() {
    let tools = ToolContext::builder().with(convert).build().expect("sound");
    let said = |which: &str| failure(&tools, "convert", format!(r#"{{"which":"{which}"}}"#));
    assert_eq!(
        said("text"),
        (ErrorKind::Permanent, "the text is missing".to_owned())
    );
    assert_eq!(
        said("string"),
        (ErrorKind::Permanent, "string is missing".to_owned())
    );
    assert_eq!(said("tool"), (ErrorKind::Auth, "log in".to_owned()));
    for which in ["anyhow", "boxed", "x"] {
        assert_eq!(
            said(which),
            (ErrorKind::Internal, "An internal error occurred".to_owned()),
            "{which}"
        );
    }
}
