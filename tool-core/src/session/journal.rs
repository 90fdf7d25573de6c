//! The journal of calls, from which a restarted process learns what an earlier one had begun.

use crate::call::ToolCall;
use crate::schema::timestamp::Timestamp;
use crate::trace::Redaction;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::sync::Arc;
use thiserror::Error;

/// Records calls before they run and after they have ended.
///
/// Without a journal, a runtime that is killed forgets which calls were running. With one, a call
/// that an earlier process started and did not finish is answered UNKNOWN when the same call id
/// comes again, and an action never runs a second time on its own.
///
/// An entry that is lost must not let an action run twice. A call whose start is lost has not run;
/// a call whose end is lost is UNKNOWN. Therefore only [`started`](Self::started) must be durable
/// when it returns, and only for calls that are not
/// [`harmless`](JournalEntry::harmless).
///
/// A journal that belongs to one process, such as one in a file, need not see what others write at
/// the same time. One that processes share tells them apart by itself: [`started`](Self::started)
/// decides in one step which of two processes runs a call, and a lease shows whether the process
/// that has begun a call still runs.
///
/// It knows a session by a key: the session's id, and if the session has a principal or an agent, a
/// JSON array of the id and both. So what one principal's session leaves behind is neither answered
/// to another principal nor removed by one.
///
/// A server of MCP records its tasks here, too. Each task has a session of its own, and its entries are
/// those of calls to the journal.
///
/// ```
/// use std::sync::Mutex;
/// use tool_core::session::{Journal, JournalEntry, JournalError, JournalStart, RecoveredCall};
///
/// /// A table of a database.
/// #[derive(Default)]
/// struct CallTable {
///     /// The rows of earlier processes.
///     earlier: Vec<RecoveredCall>,
///     rows: Mutex<Vec<RecoveredCall>>,
/// }
///
/// impl Journal for CallTable {
///     async fn started(&self, call: &JournalEntry) -> Result<JournalStart, JournalError> {
///         let mut rows = self.rows.lock().map_err(|_| JournalError::new("the table is poisoned"))?;
///         if let Some(known) = self.earlier.iter().chain(&*rows).find(|row| row.entry.has_approval_of(call)) {
///             return Ok(JournalStart::Known(Box::new(known.clone())));
///         }
///         rows.retain(|row| (&row.entry.session, &row.entry.call_id) != (&call.session, &call.call_id));
///         rows.push(RecoveredCall::new(call.clone()));
///         Ok(JournalStart::Recorded)
///     }
///
///     async fn finished(&self, session: &str, call_id: &str, response: &str) -> Result<(), JournalError> {
///         let mut rows = self.rows.lock().map_err(|_| JournalError::new("the table is poisoned"))?;
///         for row in rows.iter_mut().filter(|row| row.entry.session == session && row.entry.call_id == call_id) {
///             row.response = Some(response.to_owned());
///         }
///         Ok(())
///     }
///
///     async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
///         Ok(self.earlier.iter().filter(|row| row.entry.session == session).cloned().collect())
///     }
///
///     async fn forget(&self, session: &str) -> Result<(), JournalError> {
///         self.rows.lock().map_err(|_| JournalError::new("the table is poisoned"))?.retain(|row| row.entry.session != session);
///         Ok(()) // a real one removes the rows of earlier processes, too
///     }
/// }
///
/// # use tool_core::{ErrorKind, Mode, Runtime, ToolCall, ToolContext, tool};
/// # /// Pay a bill.
/// # #[tool(category = "action")]
/// # fn pay(cents: u32) -> String {
/// #     format!("paid {cents} cents")
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let entry = JournalEntry {
/// #     session: "chat-42".into(), call_id: "call_1".into(), tool: "pay".into(), arguments: r#"{"cents":900}"#.into(), turn: 1,
/// #     idempotency_key: "key".into(), started_at: "2026-11-25T12:00:00Z".parse()?, harmless: false, time_limit_ms: 30_000,
/// #     replaces: None, approval: None, seal: None,
/// # };
/// # let table = CallTable { earlier: vec![RecoveredCall::new(entry)], ..CallTable::default() };
/// # let tools = ToolContext::builder().with(pay).build()?;
/// // An earlier process was killed while `call_1` ran.
/// let session = Runtime::builder(tools).journal(table).build()?.session("chat-42", Mode::Text).await?;
/// let response = session.call(ToolCall::new("call_1", "pay", r#"{"cents": 900}"#)).await;
/// assert_eq!(response.error().map(|error| error.kind), Some(ErrorKind::Unknown)); // it does not run again
/// # Ok(())
/// # }
/// ```
pub trait Journal: Send + Sync + 'static {
    /// Records that a call is about to run. Returns when the entry is durable; a harmless call's
    /// entry need not be.
    ///
    /// A call id that is used again in one process replaces the earlier call and its end. On an
    /// error, a call that is not harmless does not run.
    ///
    /// A journal that processes share records nothing if another process has recorded a call with
    /// this session and id, and returns what it knows of that call. Only if the entry
    /// [`replaces`](JournalEntry::replaces) exactly that record, it is replaced. Of two processes
    /// that record a call at once, one learns of the other.
    ///
    /// No journal replaces a call by one [under the same approval](JournalEntry::has_approval_of),
    /// whichever process has recorded it, and whatever the entry replaces: it records nothing, and
    /// returns the call. So an approval runs one call, even if a store of sessions has forgotten that
    /// it was used.
    fn started(
        &self,
        call: &JournalEntry,
    ) -> impl Future<Output = Result<JournalStart, JournalError>> + Send;

    /// Returns what [`started`](Self::started) would answer if another process has recorded a call
    /// with this session and id, and records nothing. A call that would be refused is looked up, so
    /// that one which has taken effect is not said to be refused.
    ///
    /// The default is right for a journal of one process.
    fn find(
        &self,
        session: &str,
        call_id: &str,
    ) -> impl Future<Output = Result<Option<JournalStart>, JournalError>> + Send {
        _ = (session, call_id);
        async { Ok(None) }
    }

    /// Records the end of a call that this process has started: the JSON of its envelope, of at most
    /// 65 KiB (a task of the MCP server has an end of at most 4 MiB), with a member `content` if its result has
    /// [parts](crate::ToolOutput::with_content) beside the data. Ignores a call that has no entry, for example one of a forgotten
    /// session, and one that another process has replaced.
    ///
    /// The response is as the model gets it: the hooks have seen it, its cost is charged, and its intents are carried out. A call
    /// of a process that was killed before is `UNKNOWN`. So is one whose future was dropped while it ran, unless it is harmless: the
    /// end of a harmless one is not recorded.
    ///
    /// An error is logged. The call has run, and the model gets its response.
    fn finished(
        &self,
        session: &str,
        call_id: &str,
        response: &str,
    ) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// Returns the calls of a session that earlier processes recorded, in the order in which they
    /// started. Calls of this process are left out, and those that another process is running.
    /// If two processes used the same call id, the later one comes later.
    ///
    /// On an error, the session does not open.
    fn recover(
        &self,
        session: &str,
    ) -> impl Future<Output = Result<Vec<RecoveredCall>, JournalError>> + Send;

    /// Removes the entries of a session that has ended, including those of earlier processes.
    fn forget(&self, session: &str) -> impl Future<Output = Result<(), JournalError>> + Send;
}

/// A call that is about to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// The session's key.
    pub session: String,
    /// The id that the model gave the call.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments in canonical form.
    pub arguments: String,
    /// The number of the turn.
    pub turn: u64,
    /// The key that every attempt at the same call shares.
    pub idempotency_key: String,
    /// The time of the start.
    pub started_at: Timestamp,
    /// True for a tool that may run twice without harm: it is read-only or idempotent.
    pub harmless: bool,
    /// The longest time for which the call runs, in milliseconds: its time limit, and the time for
    /// which it may wait for its user. A process that lives does not run it for longer.
    #[serde(default)]
    pub time_limit_ms: u64,
    /// The [number](RecoveredCall::number) of the call with this id that was answered, and that
    /// this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<u64>,
    /// The id of the approval under which the call runs. `None` for a call that no person was asked
    /// about, and for a harmless one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// A proof that the other fields are as the host's runtime has written them, if the runtime has a
    /// [signing key](super::RuntimeBuilder::signing_key).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
}

impl JournalEntry {
    /// Returns true if both are calls under one approval, with the same session and id. For journals.
    pub fn has_approval_of(&self, other: &Self) -> bool {
        self.approval.is_some()
            && self.approval == other.approval
            && self.session == other.session
            && self.call_id == other.call_id
    }
}

/// The answer of a journal to a call that is about to run.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalStart {
    /// The start is recorded. The call runs.
    Recorded,
    /// Another process is running a call with this id.
    Running,
    /// Another process has recorded a call with this id, or this or another process one under the
    /// same approval, and does not run it any more.
    Known(Box<RecoveredCall>),
}

/// A call that a journal has recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecoveredCall {
    /// The call.
    pub entry: JournalEntry,
    /// The JSON of its envelope; `None` if the end was not recorded.
    pub response: Option<String>,
    /// The number that distinguishes it from other calls with its id. A journal of one process may leave it 0.
    pub number: u64,
}

impl RecoveredCall {
    /// Returns true if this is the call: it has its id and its tool.
    pub(crate) fn is_of(&self, call: &ToolCall) -> bool {
        self.entry.call_id == call.id() && self.entry.tool == call.name()
    }

    /// Creates a call whose end is not recorded.
    pub fn new(entry: JournalEntry) -> Self {
        Self {
            entry,
            response: None,
            number: 0,
        }
    }
}

/// A journal that cannot be written or read. The text goes to the log, never to the model.
#[derive(Clone, Debug, Error)]
#[error("journal failed: {}", Redaction::new().text(.message))]
pub struct JournalError {
    message: String,
    #[source]
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl JournalError {
    /// Creates an error. The message must not contain secrets.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// Creates an error with its cause.
    pub fn with_source(
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self {
            message: message.into(),
            source: Some(source.into().into()),
        }
    }

    /// Creates the error of an operation that exceeded the policy's `store_deadline`.
    pub(crate) fn timeout() -> Self {
        Self::new("no answer within the store's deadline")
    }
}

impl PartialEq for JournalError {
    /// Compares the messages.
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl Eq for JournalError {}

/// Declares the object-safe form of a trait with asynchronous methods: the same methods with boxed
/// futures. Every type that has the trait implements it.
macro_rules! object_safe {
    ($(#[$attribute:meta])* $visibility:vis trait $object_safe:ident: $trait:ident, $error:ty;
     $($name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        $(#[$attribute])*
        $visibility trait $object_safe: Send + Sync + 'static {
            $(fn $name<'a>(&'a self, $($argument: $type),*) -> BoxFuture<'a, Result<$output, $error>>;)*
        }

        impl<T: $trait> $object_safe for T {
            $(fn $name<'a>(&'a self, $($argument: $type),*) -> BoxFuture<'a, Result<$output, $error>> {
                Box::pin($trait::$name(self, $($argument),*))
            })*
        }

        impl<T: $object_safe + ?Sized> $object_safe for Arc<T> {
            $(fn $name<'a>(&'a self, $($argument: $type),*) -> BoxFuture<'a, Result<$output, $error>> {
                (**self).$name($($argument),*)
            })*
        }
    };
}

pub(crate) use object_safe;

object_safe! {
    /// A journal of any type.
    pub(crate) trait DynJournal: Journal, JournalError;
    started(call: &'a JournalEntry) -> JournalStart;
    find(session: &'a str, call_id: &'a str) -> Option<JournalStart>;
    finished(session: &'a str, call_id: &'a str, response: &'a str) -> ();
    recover(session: &'a str) -> Vec<RecoveredCall>;
    forget(session: &'a str) -> ();
}
