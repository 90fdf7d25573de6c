//! T2: forged names, ids and texts add no line to a log.

use crate::later::LaterStore;
use crate::support::{block_on, call, open_policy, pause, quiet};
use serde_json::json;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tool_core::session::{
    Hook, HookFuture, HookedCall, Journal, JournalEntry, JournalError, JournalStart, RecoveredCall,
};
use tool_core::{
    ErrorKind, Intent, Mode, RunContext, Runtime, Session, ToolCall, ToolError, toolset,
};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Returns everything that is logged on this thread meanwhile, one line for each event.
///
/// Does the work twice and returns the log of the second time. A callsite that another thread registers while the
/// subscriber comes would stay silent: `tracing` decides then whether anyone listens.
pub fn captured(mut work: impl FnMut()) -> String {
    captured_once(&mut work);
    captured_once(&mut work)
}

fn captured_once(work: &mut impl FnMut()) -> String {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .without_time();
    tracing::subscriber::with_default(subscriber.with_writer(log.clone()).finish(), work);
    let bytes = log.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    String::from_utf8(bytes).expect("text")
}

/// A line feed, a carriage return, a colour, a bell, C1, delete, and a forged line.
const FORGED: &str = "x\n ERROR forged\r\u{1b}[31m\u{7}\u{9b}31m\u{7f}\u{0}";

struct Forger;

#[toolset(discover = false)]
impl Forger {
    /// Fail.
    #[tool(category = "action")]
    fn fails(&self) -> Result<u8, ToolError> {
        Err(ToolError::internal(FORGED))
    }

    /// Panic.
    #[tool]
    async fn panics(&self) -> u8 {
        panic!("provoked {FORGED}")
    }

    /// Ask for something.
    #[tool]
    fn asks(&self, ctx: &RunContext) -> u8 {
        ctx.emit(Intent::custom(format!("acme.{FORGED}"), json!(FORGED)).expect("a name"));
        ctx.emit(Intent::SetPendingMessage(FORGED.to_owned()));
        1
    }

    /// Wait for a person.
    #[tool(confirm)]
    async fn confirms(&self) -> u8 {
        pause().await;
        1
    }
}

struct ForgingHook;

impl Hook for ForgingHook {
    fn before<'a>(&'a self, call: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        let fails = call.tool.name() == "confirms";
        Box::pin(async move {
            if fails {
                Err(ToolError::internal(FORGED))
            } else {
                Ok(())
            }
        })
    }

    fn after<'a>(
        &'a self,
        _: &'a HookedCall<'a>,
        _: &'a mut tool_core::ToolResponse,
    ) -> HookFuture<'a, ()> {
        Box::pin(async { panic!("provoked {FORGED}") })
    }
}

struct ForgingJournal;

impl Journal for ForgingJournal {
    async fn started(&self, _: &JournalEntry) -> Result<JournalStart, JournalError> {
        Err(JournalError::new(FORGED))
    }

    async fn finished(&self, _: &str, _: &str, _: &str) -> Result<(), JournalError> {
        Err(JournalError::new(FORGED))
    }

    async fn recover(&self, _: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        Ok(Vec::new())
    }

    async fn forget(&self, _: &str) -> Result<(), JournalError> {
        Err(JournalError::new(FORGED))
    }
}

/// Runs everything that logs, under forged names.
async fn exercise(session: &Session) {
    for name in ["fails", "panics", "asks", "confirms", FORGED] {
        let response = session.call(call(FORGED, name, json!({}))).await;
        if let Some(asked) = response.meta().confirmation() {
            _ = session.approve(&asked.token).await;
            _ = session.deny(&asked.token).await;
        }
        _ = session.call(ToolCall::new(FORGED, name, FORGED)).await;
    }
    _ = session.approve(FORGED).await;
    _ = session.next_turn().await;
    session.end().await;
}

fn is_sound(log: &str) {
    for line in log.lines() {
        assert!(
            ["ERROR ", " WARN ", " INFO ", "DEBUG ", "TRACE "]
                .iter()
                .any(|level| line.starts_with(level)),
            "{log}"
        );
        assert!(
            !line.starts_with(" ERROR forged") && !line.contains(char::is_control),
            "{line:?}"
        );
    }
}

// T2
#[test]
fn forged_tool_texts_add_no_log_line() {
    quiet();
    let log = captured(|| {
        block_on(async {
            let runtime = Runtime::builder(crate::support::tools(Forger))
                .policy(open_policy())
                .hook(ForgingHook);
            let runtime = runtime.build().expect("sound");
            exercise(&runtime.session(FORGED, Mode::Text).await.expect("opens")).await;
        });
    });
    assert!(
        log.contains("tool failed internally") && log.contains("tool panicked"),
        "{log}"
    );
    is_sound(&log);
}

// T2: errors of a store and a journal
#[test]
fn forged_store_errors_add_no_log_line() {
    quiet();
    let log = captured(|| {
        block_on(async {
            let runtime = Runtime::builder(crate::support::tools(Forger))
                .policy(open_policy())
                .journal(ForgingJournal);
            let runtime = runtime.build().expect("sound");
            exercise(&runtime.session(FORGED, Mode::Text).await.expect("opens")).await;

            let store = Arc::new(LaterStore::default());
            let runtime = Runtime::builder(crate::support::tools(Forger)).policy(open_policy());
            let runtime = runtime.store(Arc::clone(&store)).build().expect("sound");
            let session = runtime.session(FORGED, Mode::Text).await.expect("opens");
            store.breaks(FORGED);
            let response = session.call(call("c", "fails", json!({}))).await;
            assert_eq!(crate::support::kind(&response), ErrorKind::Transient);
            exercise(&session).await;
        });
    });
    assert!(
        log.contains("journal failed") && log.contains("session store failed"),
        "{log}"
    );
    is_sound(&log);
}

// T2: the log of an application whose session does not open
#[test]
fn error_about_a_session_id_has_no_control_characters() {
    block_on(async {
        let runtime = Runtime::builder(crate::support::tools(Forger))
            .build()
            .expect("sound");
        let _open = runtime
            .session(FORGED, Mode::Text)
            .principal("user:1")
            .await
            .expect("opens");
        let stranger = runtime
            .session(FORGED, Mode::Text)
            .principal("user:2")
            .await
            .expect_err("another's");
        let other_mode = runtime
            .session(FORGED, Mode::Voice)
            .await
            .expect_err("in text");
        for error in [stranger, other_mode] {
            assert!(
                !error.to_string().contains(char::is_control),
                "{:?}",
                error.to_string()
            );
        }
    });
}
