//! Changes by LISTEN and NOTIFY. Triggers notify, so that changes by hand count too.
//!
//! All readers of a store share one connection that listens. The store notifies itself, too, to find
//! out whether that arrives: a pooler in transaction mode takes LISTEN and passes nothing on.

use crate::random::{random_number, random_share};
use crate::sql::values::{original_id, unsigned};
use crate::sql::{Param, SqlDatabase, SqlError, SqlRow, number};
use parking_lot::Mutex;
use serde::Deserialize;
use sqlx::postgres::{PgListener, PgPool, PgPoolOptions};
use std::sync::Arc;
use std::time::Duration;
use tokio::select;
use tokio::sync::broadcast::{Sender, channel};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tool_core::session::{ApprovalState, StoreChange, StoreChanges, StoreError};

/// The triggers notify over this channel. A database has one for all of its schemas.
const CHANNEL: &str = "tool_changes";

/// The changes that a reader may be behind.
const BACKLOG: usize = 1_024;

/// The interval at which readers read again if the store is not notified.
const POLL: Duration = Duration::from_secs(5);

/// The time for which readers poll before the store tries again to listen.
const RETRY_LISTENING: Duration = Duration::from_secs(60);

/// The interval at which the store notifies itself, and the longest wait for that.
const PROBE_AFTER: Duration = Duration::from_secs(30);
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// The shortest and the longest pause before another attempt to listen.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The longest wait for the connection that listens.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The shortest and the longest wait for the next call that expires. The clock of the database may
/// be set meanwhile.
const SHORTEST_WAIT: Duration = Duration::from_millis(5);
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The most calls that are reported one by one when they expire at once.
const MOST_EXPIRED: u64 = 1_000;

const SCHEMA: &str = "SELECT nspname::text FROM pg_namespace JOIN pg_class ON relnamespace = pg_namespace.oid \
    WHERE pg_class.oid = to_regclass('tool_sessions')";

const PROBE: &str = "SELECT pg_notify('tool_changes', $1)::text";

/// The clock, and the end of the next call that expires.
const NEXT_EXPIRY: &str = "SELECT clock.now, (SELECT min(expires_at) FROM tool_session_approvals WHERE expires_at > clock.now) \
    FROM tool_session_clock AS clock";

const EXPIRED: &str = "SELECT principal, session, id FROM tool_session_approvals \
    WHERE expires_at > $1 AND expires_at <= $2 ORDER BY expires_at LIMIT $3";

/// The changes of a store for all of its readers. A task sends them, as long as there is a reader.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeFeed(Arc<Mutex<Option<Sender<StoreChange>>>>);

impl ChangeFeed {
    /// Returns the changes from now on. Behind a pooler, its readers poll.
    pub(crate) fn subscribe<D: SqlDatabase>(
        &self,
        database: &D,
        pool: &PgPool,
        is_pooled: bool,
    ) -> StoreChanges {
        let mut current = self.0.lock();
        if let Some(sender) = &*current {
            return StoreChanges::new(sender.subscribe());
        }
        let (sender, receiver) = channel(BACKLOG);
        *current = Some(sender.clone());
        let reporter = Reporter {
            database: database.clone(),
            pool: pool.clone(),
            is_pooled,
            sender,
            feed: self.clone(),
            has_ended: false,
        };
        tokio::spawn(reporter.run());
        StoreChanges::new(receiver)
    }
}

/// The task that reports changes to the readers of a store.
struct Reporter<D> {
    database: D,
    pool: PgPool,
    is_pooled: bool,
    sender: Sender<StoreChange>,
    feed: ChangeFeed,
    has_ended: bool,
}

impl<D> Drop for Reporter<D> {
    fn drop(&mut self) {
        // The runtime has stopped. Another one may start a new task.
        if !self.has_ended {
            *self.feed.0.lock() = None;
        }
    }
}

/// The reason for which the store no longer listens.
enum Stopped {
    /// The server cannot be asked, or the connection is lost.
    Lost(SqlError),
    /// The server has taken LISTEN, and no notification arrives.
    NotNotified,
}

impl From<sqlx::Error> for Stopped {
    fn from(error: sqlx::Error) -> Self {
        Self::Lost(error.into())
    }
}

impl From<SqlError> for Stopped {
    fn from(error: SqlError) -> Self {
        Self::Lost(error)
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Lost(SqlError::caused(error.to_string(), error))
    }
}

impl<D: SqlDatabase> Reporter<D> {
    /// Reports changes until there are no readers, or the pool is closed.
    async fn run(mut self) {
        let sender = self.sender.clone();
        let pool = self.pool.clone();
        loop {
            select! {
                () = pool.close_event() => return,
                () = sender.closed() => {
                    let mut current = self.feed.0.lock();
                    if sender.receiver_count() == 0 {
                        *current = None;
                        self.has_ended = true;
                        return;
                    }
                }
                () = self.report() => {}
            }
        }
    }

    /// Reports changes for ever.
    async fn report(&self) {
        if self.is_pooled {
            loop {
                self.poll_for(RETRY_LISTENING).await;
            }
        }
        let mut pause = FIRST_PAUSE;
        let mut has_warned = false;
        loop {
            match self.listen(&mut pause).await {
                Stopped::Lost(error) => {
                    tracing::warn!(%error, "the store is not notified of changes; it tries again");
                    sleep(jittered(pause)).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    // The server may answer all questions but this one.
                    if pause > POLL {
                        self.send(StoreChange::Unknown);
                    }
                }
                Stopped::NotNotified => {
                    if !has_warned {
                        has_warned = true;
                        tracing::warn!(
                            "no notification reaches the store, as behind a pooler in transaction mode, and readers of \
                             changes poll; take the changes of a store that is opened at the server's own address"
                        );
                    }
                    self.poll_for(RETRY_LISTENING).await;
                }
            }
        }
    }

    /// Lets readers read again, at an interval.
    async fn poll_for(&self, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            sleep(POLL).await;
            self.send(StoreChange::Unknown);
        }
    }

    fn send(&self, change: StoreChange) {
        // It fails if there are no readers.
        _ = self.sender.send(change);
    }

    /// Listens until it fails.
    async fn listen(&self, pause: &mut Duration) -> Stopped {
        match self.try_listen(pause).await {
            Ok(()) => Stopped::Lost(SqlError::new("the connection that listens was closed")),
            Err(stopped) => stopped,
        }
    }

    /// Listens until the connection is lost.
    async fn try_listen(&self, pause: &mut Duration) -> Result<(), Stopped> {
        let mut listener = self.listener().await?;
        let rows = self.database.select(SCHEMA, &[]).await?;
        let schema = rows.first().map_or(Ok(String::new()), |row| row.text(0))?;

        let mut probe = Probe::new();
        let mut expiry = self.next_expiry().await?;
        loop {
            select! {
                told = listener.try_recv() => {
                    let Some(told) = told? else { return Ok(()) };
                    // Others may use the channel, and newer versions may tell more.
                    let Ok(told) = serde_json::from_str::<Notification>(told.payload()) else {
                        continue;
                    };
                    if probe.is_answered_by(&told) && !probe.has_succeeded {
                        probe.has_succeeded = true;
                        *pause = FIRST_PAUSE;
                        self.send(StoreChange::Unknown);
                    }
                    if told.schema.as_deref() == Some(&*schema) {
                        expiry.note(&told);
                        self.send(told.into_change());
                    }
                }
                () = sleep_until(probe.next) => {
                    if let Some(stopped) = probe.failure() {
                        return Err(stopped);
                    }
                    let text = probe.begin()?;
                    self.database.select(PROBE, &[Param::Text(Some(&text))]).await?;
                }
                () = sleep_until(expiry.next) => expiry = self.report_expired(&expiry).await?,
            }
        }
    }

    /// Opens a connection that listens.
    async fn listener(&self) -> Result<PgListener, Stopped> {
        // Of its own, so that no statement waits for it.
        let options = (*self.pool.connect_options()).clone();
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(options);
        let connect = async {
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.ignore_pool_close_event(true);
            listener.eager_reconnect(false);
            listener.listen(CHANNEL).await?;
            Ok(listener)
        };
        match timeout(CONNECT_TIMEOUT, connect).await {
            Ok(listener) => listener,
            Err(_) => Err(sqlx::Error::PoolTimedOut.into()),
        }
    }

    /// Reports the calls that have expired since the last time.
    async fn report_expired(&self, before: &Expiry) -> Result<Expiry, Stopped> {
        let next = self.next_expiry().await?;
        let params = [
            number(before.reported_until),
            number(next.reported_until),
            number(MOST_EXPIRED),
        ];
        let rows = self.database.select(EXPIRED, &params).await?;
        if rows.len() as u64 >= MOST_EXPIRED {
            self.send(StoreChange::Unknown);
            return Ok(next);
        }
        for row in &rows {
            self.send(StoreChange::Approval {
                principal: original_id(&row.text(0)?),
                session: original_id(&row.text(1)?).into(),
                id: row.text(2)?,
                state: ApprovalState::Expired,
            });
        }
        Ok(next)
    }

    /// Asks for the clock of the database, and for the end of the next call that expires.
    async fn next_expiry(&self) -> Result<Expiry, Stopped> {
        let rows = self.database.select(NEXT_EXPIRY, &[]).await?;
        let row = rows
            .first()
            .ok_or_else(|| SqlError::new("the database has no clock"))?;
        let mut expiry = Expiry::at(unsigned(row, 0)?);
        if !row.is_null(1) {
            expiry.wait_for(unsigned(row, 1)?);
        }
        Ok(expiry)
    }
}

/// A notification of the store to itself, which shows that others arrive as well.
struct Probe {
    /// The text, until it has come back.
    text: Option<String>,
    /// When the next text is sent, or when this one is late.
    next: Instant,
    /// True once a text has come back over this connection.
    has_succeeded: bool,
}

impl Probe {
    fn new() -> Self {
        Self {
            text: None,
            next: Instant::now(),
            has_succeeded: false,
        }
    }

    /// Returns the next text to send.
    fn begin(&mut self) -> Result<String, StoreError> {
        let text = format!("{:032x}", random_number()?);
        let told = serde_json::json!({ "probe": text }).to_string();
        self.text = Some(text);
        self.next = Instant::now() + PROBE_TIMEOUT;
        Ok(told)
    }

    /// Returns true if the text has come back.
    fn is_answered_by(&mut self, told: &Notification) -> bool {
        let is_own = told.probe.is_some() && told.probe == self.text;
        if is_own {
            self.text = None;
            self.next = Instant::now() + PROBE_AFTER;
        }
        is_own
    }

    /// Returns why the store no longer listens, if the text is late.
    fn failure(&self) -> Option<Stopped> {
        self.text.as_ref()?;
        Some(if self.has_succeeded {
            Stopped::Lost(SqlError::new("no notification arrives any more"))
        } else {
            Stopped::NotNotified
        })
    }
}

/// When the next call expires.
struct Expiry {
    /// The clock of the database, in milliseconds since 1970. Calls that have expired by then
    /// are reported.
    reported_until: u64,
    /// The time of this process at which it was read.
    read_at: Instant,
    /// When to ask for calls that have expired.
    next: Instant,
}

impl Expiry {
    /// The clock of the database shows a time now.
    fn at(now: u64) -> Self {
        let read_at = Instant::now();
        Self {
            reported_until: now,
            read_at,
            next: read_at + LONGEST_WAIT,
        }
    }

    /// Asks not later than at a time of the database's clock.
    fn wait_for(&mut self, time: u64) {
        let left = Duration::from_millis(time.saturating_sub(self.reported_until));
        let at = self.read_at + left.clamp(SHORTEST_WAIT, LONGEST_WAIT);
        self.next = self.next.min(at);
    }

    fn note(&mut self, told: &Notification) {
        if let Some(time) = told.expires_at {
            self.wait_for(time);
        }
    }
}

/// The payload of a notification. Anyone who may connect to the database can notify, so that
/// nothing depends on what it says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notification {
    /// The schema of the tables; not that of a probe.
    schema: Option<String>,
    probe: Option<String>,
    agent: Option<String>,
    approval: Option<String>,
    grant: Option<String>,
    session: Option<String>,
    principal: Option<String>,
    state: Option<String>,
    /// Milliseconds since 1970.
    expires_at: Option<u64>,
    #[serde(default)]
    is_given: bool,
}

impl Notification {
    /// Returns the change. It is unknown if its names are too long, or if a newer version made it.
    fn into_change(self) -> StoreChange {
        if let Some(agent) = self.agent {
            return StoreChange::Agent { agent };
        }
        let (Some(principal), Some(session)) = (&self.principal, &self.session) else {
            return StoreChange::Unknown;
        };
        let principal = original_id(principal);
        let session = original_id(session).into();
        if let Some(id) = self.grant {
            return StoreChange::Grant {
                principal,
                session,
                id,
                is_given: self.is_given,
            };
        }
        let state = match self.state.as_deref() {
            Some("waits") => ApprovalState::Waits,
            Some("over") => ApprovalState::Over,
            Some("expired") => ApprovalState::Expired,
            _ => return StoreChange::Unknown,
        };
        match self.approval {
            Some(id) => StoreChange::Approval {
                principal,
                session,
                id,
                state,
            },
            None => StoreChange::Unknown,
        }
    }
}

/// Returns half to one and a half of a pause, so that processes do not come back all at once.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.5 + random_share())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str) -> StoreChange {
        let told = serde_json::from_str::<Notification>(text).expect("a notification");
        told.into_change()
    }

    #[test]
    fn ids_are_reported_as_the_store_was_given_them() {
        let told = r#"{"schema": "public", "approval": "5f", "session": "a%25%00", "principal": "%2500",
            "state": "waits", "expiresAt": 7}"#;
        let expected = StoreChange::Approval {
            principal: "%00".into(),
            session: "a%\0".into(),
            id: "5f".into(),
            state: ApprovalState::Waits,
        };
        assert_eq!(change(told), expected);
    }

    #[test]
    fn a_notification_without_names_is_an_unknown_change() {
        for told in [
            r#"{"schema": "public"}"#,
            r#"{"schema": "public", "newer": 1, "session": "s", "principal": "p"}"#,
            r#"{"schema": "public", "approval": "5f", "session": "s", "principal": "p", "state": "newer"}"#,
        ] {
            assert_eq!(change(told), StoreChange::Unknown, "{told}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_call_that_expires_is_waited_for() {
        let mut expiry = Expiry::at(1_000);
        let began = expiry.read_at;
        for (time, seconds) in [(u64::MAX, 600), (61_000, 60), (91_000, 60), (2_000, 1)] {
            expiry.wait_for(time);
            assert_eq!(expiry.next - began, Duration::from_secs(seconds));
        }
    }
}
