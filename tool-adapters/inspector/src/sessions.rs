//! The sessions that the page has opened.

use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tool_core::session::{CapScope, History, TurnReport};
use tool_core::trace::Cost;
use tool_core::{Category, Session};

/// The sessions that the page may have open.
pub(crate) const MAX_SESSIONS: usize = 32;
/// The newest calls and audit entries of a session that the page shows.
const MAX_ENTRIES: usize = 100;

/// The scopes of caps. A call has its caps to itself, so they are never used when it begins.
const SCOPES: [(&str, CapScope); 4] = [
    ("call", CapScope::Call),
    ("turn", CapScope::Turn),
    ("session", CapScope::Session),
    ("principal", CapScope::Principal),
];

/// A session that the page has opened or joined.
pub(crate) struct PageSession {
    pub(crate) session: Session,
    /// The conversation. The lock makes replies wait for each other.
    pub(crate) history: AsyncMutex<History>,
}

pub(crate) struct OpenSessions {
    open: Mutex<Vec<Arc<PageSession>>>,
    /// The number of changes.
    version: watch::Sender<u64>,
}

impl Default for OpenSessions {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            version: watch::Sender::new(0),
        }
    }
}

impl OpenSessions {
    /// Returns true if no further session may be opened.
    pub(crate) fn is_full(&self) -> bool {
        let mut sessions = self.open.lock();
        sessions.retain(|open| !open.session.state().ended);
        sessions.len() >= MAX_SESSIONS
    }

    /// Adds a session, or returns the one that is known under its id. Returns `None` if there are
    /// too many.
    pub(crate) fn add(&self, session: Session) -> Option<Arc<PageSession>> {
        let mut sessions = self.open.lock();
        let is_same = |open: &Arc<PageSession>| {
            open.session.id() == session.id() && !open.session.state().ended
        };
        if let Some(open) = sessions.iter().find(|open| is_same(open)) {
            return Some(Arc::clone(open));
        }
        sessions.retain(|open| open.session.id() != session.id());
        if sessions.len() >= MAX_SESSIONS {
            return None;
        }
        let open = Arc::new(PageSession {
            session,
            history: AsyncMutex::default(),
        });
        sessions.push(Arc::clone(&open));
        Some(open)
    }

    /// Returns the session with this id.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<PageSession>> {
        self.open
            .lock()
            .iter()
            .find(|open| open.session.id().as_str() == id)
            .cloned()
    }

    /// Removes the session with this id.
    pub(crate) fn remove(&self, id: &str) {
        self.open
            .lock()
            .retain(|open| open.session.id().as_str() != id);
    }

    /// Returns a receiver that wakes its reader after each change.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Wakes the readers, as a session has changed.
    pub(crate) fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    /// Returns the sessions, the oldest first.
    pub(crate) fn list_json(&self) -> Value {
        let listed = self
            .open
            .lock()
            .iter()
            .map(|open| open.summary_json())
            .collect::<Vec<_>>();
        listed.into()
    }
}

impl PageSession {
    fn summary_json(&self) -> Value {
        let session = &self.session;
        json!({
            "id": session.id().as_str(),
            "mode": session.mode(),
            "principal": session.principal(),
            "turn": session.turn(),
            "ended": session.state().ended,
        })
    }

    /// Returns the session with its budgets, its loop detection, its state and its logs. Without
    /// the store, it is what this process knows, and has no audit log.
    pub(crate) async fn snapshot_json(&self) -> Value {
        let session = &self.session;
        let mut audit = session.audit().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "failed to read the audit log of a session");
            Vec::new()
        });
        let metrics = session.metrics();
        audit.drain(..audit.len().saturating_sub(MAX_ENTRIES));
        let calls = &metrics.calls[metrics.calls.len().saturating_sub(MAX_ENTRIES)..];
        let report = session.turn_report();
        let mut snapshot = self.summary_json();
        if let Value::Object(members) = &mut snapshot {
            members.insert("state".to_owned(), json!(&*session.state()));
            members.insert("audit".to_owned(), json!(audit));
            members.insert("calls".to_owned(), json!(calls));
            members.insert("totalCalls".to_owned(), json!(metrics.total_calls));
            members.insert("totalErrors".to_owned(), json!(metrics.total_errors));
            members.insert("context".to_owned(), json!(metrics.context));
            members.insert(
                "visibleTools".to_owned(),
                json!(session.definitions().len()),
            );
            members.insert("budgets".to_owned(), self.budgets_json(report.as_ref()));
            members.insert("caps".to_owned(), self.caps_json());
            members.insert("loops".to_owned(), self.loops_json(report.as_ref()));
        }
        snapshot
    }

    /// Returns the limit of each budget, and the calls that were charged to it where the store can
    /// say.
    fn budgets_json(&self, report: Option<&TurnReport>) -> Value {
        let limits = self.session.policy().limits();
        let mut budgets = vec![budget_json(
            "all calls",
            limits.max_calls,
            report.map(|report| report.calls),
        )];
        for category in [Category::Retrieval, Category::Action, Category::Utility] {
            let used = report.and_then(|report| report.categories.get(category.as_str()).copied());
            budgets.push(budget_json(
                category.as_str(),
                limits.category(category),
                used,
            ));
        }
        let with_limit = self
            .session
            .tools()
            .definitions()
            .filter_map(|tool| Some((tool.name(), tool.max_calls()?)));
        budgets.extend(with_limit.take(MAX_ENTRIES).map(|(name, limit)| {
            let used = report.map(|report| report.tools.get(name).map_or(0, |tool| tool.calls));
            budget_json(name, Some(limit), used)
        }));
        budgets.into()
    }

    /// Returns the caps on cost, in dollars, and on time, in seconds, and what the calls that have
    /// ended have used of them.
    fn caps_json(&self) -> Value {
        let Some(caps) = self.session.policy().caps() else {
            return json!([]);
        };
        let spending = self.session.spending();
        let mut rows = Vec::new();
        for (name, scope) in SCOPES {
            let stored = CapScope::STORED
                .into_iter()
                .position(|stored| stored == scope);
            let used = stored.and_then(|at| Some(spending?[at]));
            if let Some(limit) = caps.cost(scope) {
                let left = used.map(|used| {
                    Cost::pico(limit.picodollars().saturating_sub(used.cost.picodollars()))
                });
                let used = used.map(|used| used.cost.decimal());
                rows.push(json!({"scope": name, "of": "cost", "limit": limit.decimal(), "used": used, "left": left.map(Cost::decimal)}));
            }
            if let Some(limit) = caps.time(scope) {
                let left = used.map(|used| limit.saturating_sub(used.time).as_secs_f64());
                let used = used.map(|used| used.time.as_secs_f64());
                rows.push(
                    json!({"scope": name, "of": "time", "limit": limit.as_secs_f64(), "used": used, "left": left}),
                );
            }
        }
        rows.into()
    }

    /// Returns the tools that the turn has tried, and the attempts and empty results at which they
    /// are refused.
    fn loops_json(&self, report: Option<&TurnReport>) -> Value {
        let limits = self.session.policy().limits();
        let tools = report.map(|report| report.tools.iter().take(MAX_ENTRIES).collect::<Vec<_>>());
        json!({"refusedAttempt": limits.repeated, "maxEmptyResults": limits.empty, "tools": tools})
    }
}

fn budget_json(name: &str, limit: Option<u32>, used: Option<u32>) -> Value {
    let left = limit
        .zip(used)
        .map(|(limit, used)| limit.saturating_sub(used));
    json!({"name": name, "limit": limit, "used": used, "left": left})
}
