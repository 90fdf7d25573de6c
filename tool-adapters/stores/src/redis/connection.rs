//! The connection of a store: its links, made again after a pause when they break, and what is sent
//! again over them.

use crate::random::random_share;
use crate::redis::address::Address;
use crate::redis::link::{Certificates, Endpoint, Link, is_not_executed};
use crate::redis::script::ScriptCall;
use futures_util::future::try_join_all;
use parking_lot::Mutex;
use redis::{
    Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisResult, ServerErrorKind, Value,
};
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tool_core::session::StoreError;
use tool_core::time::whole_milliseconds;

/// Time for which a command is sent again that no server has executed, because its key moves to
/// another server.
const RETRY_FOR: Duration = Duration::from_secs(2);
/// The first and the longest pause before a command is sent again.
const RETRY_PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(100)];
/// The first and the longest pause between two attempts to connect.
const CONNECT_PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(1)];

/// The links of a store whose changes wait for replicas: a server answers nothing else on a link
/// while a change waits there.
const WAITING_LANES: usize = 8;

/// Time after which a request that is given up counts as one that gets no answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// The replicas that have to confirm a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplicaWait {
    pub(crate) replicas: u32,
    pub(crate) limit: Duration,
}

/// The connection of a store, which all its sessions share.
pub(crate) struct Connection {
    endpoint: Endpoint,
    lanes: Vec<Lane>,
    /// The number of times that a link broke. All links are made again then: what has cut one off
    /// has mostly cut off the others, which would find out by losing a request each.
    breaks: AtomicU64,
    /// The number of requests, of which each takes the next lane.
    requests: AtomicUsize,
    replicas: Option<ReplicaWait>,
    /// Hosts and ports, without the secrets in the URL.
    pub(crate) address: String,
}

/// One link at a time, which is made again when it breaks.
#[derive(Default)]
struct Lane {
    current: Mutex<Option<AgedLink>>,
    attempts: tokio::sync::Mutex<Attempts>,
}

/// A link, and the number of breaks before it.
#[derive(Clone)]
struct AgedLink {
    link: Link,
    breaks: u64,
}

/// The attempts to connect.
#[derive(Default)]
struct Attempts {
    /// Those that failed since the last one that succeeded.
    failures: u32,
    pause: Option<Pause>,
}

/// The time until which no attempt is made.
struct Pause {
    end: Instant,
    error: RedisError,
}

impl Attempts {
    /// Returns the last error while it is too early for another attempt.
    fn check(&self) -> RedisResult<()> {
        match &self.pause {
            Some(pause) if Instant::now() < pause.end => Err(pause.error.clone()),
            _ => Ok(()),
        }
    }

    fn failed(&mut self, error: &RedisError) {
        let length = jittered(pause_after(self.failures, CONNECT_PAUSES));
        self.failures = self.failures.saturating_add(1);
        self.pause = Some(Pause {
            end: Instant::now() + length,
            error: error.clone(),
        });
    }

    fn succeeded(&mut self) {
        self.failures = 0;
        self.pause = None;
    }
}

/// Returns the pause after this many others, each twice as long as the one before.
fn pause_after(others: u32, [first, longest]: [Duration; 2]) -> Duration {
    let factor = 2_u32.saturating_pow(others);
    first.saturating_mul(factor).min(longest)
}

/// Returns a time between the half of this one and all of it, so that processes do not come back
/// all at once.
fn jittered(time: Duration) -> Duration {
    time.mul_f64(0.5 + random_share() / 2.0)
}

impl Lane {
    /// Returns the link, which is made first if there is none since the last break.
    async fn link(&self, connection: &Connection) -> RedisResult<AgedLink> {
        if let Some(link) = self.current(connection) {
            return Ok(link);
        }
        let mut attempts = self.attempts.lock().await;
        // Another request may have connected meanwhile.
        if let Some(link) = self.current(connection) {
            return Ok(link);
        }
        attempts.check()?;
        let breaks = connection.breaks.load(Ordering::SeqCst);
        // In a box, because it is large and every request has room for it.
        match Box::pin(connection.endpoint.connect()).await {
            Ok(link) => {
                attempts.succeeded();
                let link = AgedLink { link, breaks };
                *self.current.lock() = Some(link.clone());
                Ok(link)
            }
            Err(error) => {
                attempts.failed(&error);
                Err(error)
            }
        }
    }

    fn current(&self, connection: &Connection) -> Option<AgedLink> {
        let breaks = connection.breaks.load(Ordering::SeqCst);
        let current = self.current.lock().clone();
        current.filter(|link| link.breaks == breaks)
    }
}

impl Connection {
    /// Creates a connection that connects at its first use.
    pub(crate) fn lazy(
        url: &str,
        certificates: &Certificates,
        replicas: Option<ReplicaWait>,
    ) -> Result<Self, StoreError> {
        let address = Address::read(url)?;
        let lanes = replicas.map_or(1, |_| WAITING_LANES);
        Ok(Self {
            endpoint: Endpoint::new(&address, certificates)?,
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            breaks: AtomicU64::new(0),
            requests: AtomicUsize::new(0),
            replicas,
            address: address.shown,
        })
    }

    /// Returns true if keys of different hash tags may be on different servers.
    pub(crate) fn is_cluster(&self) -> bool {
        self.endpoint.is_cluster()
    }

    /// Runs a script.
    pub(crate) async fn script<T: FromRedisValue>(
        &self,
        call: &ScriptCall,
    ) -> Result<T, StoreError> {
        let mut answer = self.changed(call.by_digest(), call.is_copied()).await;
        if let Err(ChangeError::Redis(error)) = &answer
            && error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
        {
            answer = self.changed(call.by_text(), call.is_copied()).await;
        }
        let value = answer.map_err(|error| self.describe_change(&error))?;
        self.read(value)
    }

    /// Runs a command, whose keys have one hash tag.
    pub(crate) async fn command<T: FromRedisValue>(&self, command: Cmd) -> Result<T, StoreError> {
        let answers = self.answers(&one(command)).await;
        let mut answers = answers.map_err(|error| describe(&self.address, &error))?;
        self.read(answers.pop().unwrap_or(Value::Nil))
    }

    /// Runs a command, or returns `None` if the user has no right to it.
    pub(crate) async fn permitted<T: FromRedisValue>(
        &self,
        command: Cmd,
    ) -> Result<Option<T>, StoreError> {
        match self.answers(&one(command)).await {
            Ok(mut answers) => self.read(answers.pop().unwrap_or(Value::Nil)).map(Some),
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm) => Ok(None),
            Err(error) => Err(describe(&self.address, &error)),
        }
    }

    /// Runs a command that creates a key, and does nothing if the key is there.
    pub(crate) async fn create(&self, command: Cmd) -> Result<(), StoreError> {
        match self.answers(&one(command)).await {
            Ok(_) => Ok(()),
            Err(error) if is_busy_key(&error) => Ok(()),
            Err(error) => Err(describe(&self.address, &error)),
        }
    }

    /// Runs commands that do not depend on each other, and returns their answers in the same order.
    /// The keys of each have one hash tag.
    pub(crate) async fn each(&self, commands: Vec<Cmd>) -> Result<Vec<Value>, StoreError> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        if self.is_cluster() {
            let answers = commands.into_iter().map(|command| self.command(command));
            return try_join_all(answers).await;
        }
        let mut pipeline = Pipeline::with_capacity(commands.len());
        for command in commands {
            pipeline.add_command(command);
        }
        let answers = self.answers(&pipeline).await;
        answers.map_err(|error| describe(&self.address, &error))
    }

    /// Connects, unless it has.
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        self.command(redis::cmd("PING")).await
    }

    /// Runs a command that changes something, and waits for the replicas if they have to confirm
    /// it.
    async fn changed(&self, command: Cmd, is_copied: bool) -> Result<Value, ChangeError> {
        let mut pipeline = one(command);
        let replicas = self.replicas.filter(|_| is_copied);
        if let Some(wait) = replicas {
            // In one pipeline, so that it goes to the server that makes the change, over the same
            // connection: the server waits for the changes of this connection.
            pipeline
                .cmd("WAIT")
                .arg(wait.replicas)
                .arg(whole_milliseconds(wait.limit).max(1));
        }
        let mut answers = self.answers(&pipeline).await?;
        if let Some(wait) = replicas {
            let confirmed = answers.pop().unwrap_or(Value::Nil);
            let confirmed: u32 = redis::from_redis_value(confirmed).map_err(RedisError::from)?;
            if confirmed < wait.replicas {
                return Err(ChangeError::NotCopied {
                    confirmed,
                    of: wait.replicas,
                });
            }
        }
        Ok(answers.pop().unwrap_or(Value::Nil))
    }

    /// Sends commands whose keys have one hash tag. What no server has executed is sent again for a
    /// while if another server may take over.
    async fn answers(&self, pipeline: &Pipeline) -> RedisResult<Vec<Value>> {
        let begin = Instant::now();
        let mut tries = 0;
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let lane = &self.lanes[request % self.lanes.len()];
        loop {
            let mut current = lane.link(self).await?;
            let mut waiting = WaitingRequest::new(self, current.breaks);
            let answers = pipeline.query_async(&mut current.link).await;
            waiting.is_answered = true;
            let error = match answers {
                Ok(answers) => return Ok(answers),
                Err(error) => error,
            };
            if current.link.is_broken_by(&error) {
                self.breaks_after(current.breaks);
            }
            let may_move = !matches!(self.endpoint, Endpoint::Server(_));
            if !may_move || !is_not_executed(&error) || begin.elapsed() >= RETRY_FOR {
                return Err(error);
            }
            sleep(jittered(pause_after(tries, RETRY_PAUSES))).await;
            tries += 1;
        }
    }

    /// Counts a break of a link, unless another request has seen it too.
    fn breaks_after(&self, breaks: u64) {
        let order = Ordering::SeqCst;
        _ = self
            .breaks
            .compare_exchange(breaks, breaks + 1, order, order);
    }

    fn read<T: FromRedisValue>(&self, value: Value) -> Result<T, StoreError> {
        redis::from_redis_value(value)
            .map_err(|error| describe(&self.address, &RedisError::from(error)))
    }

    fn describe_change(&self, error: &ChangeError) -> StoreError {
        match error {
            ChangeError::Redis(error) => describe(&self.address, error),
            ChangeError::NotCopied { confirmed, of } => StoreError::new(format!(
                "Redis at {}: {confirmed} of {of} replicas confirmed the change in time",
                self.address
            )),
        }
    }
}

/// A request that waits for its answer. If its caller gives up after a while, the server may be
/// gone without a word, and the links are made again.
struct WaitingRequest<'a> {
    connection: &'a Connection,
    breaks: u64,
    since: Instant,
    is_answered: bool,
}

impl<'a> WaitingRequest<'a> {
    fn new(connection: &'a Connection, breaks: u64) -> Self {
        Self {
            connection,
            breaks,
            since: Instant::now(),
            is_answered: false,
        }
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        if !self.is_answered && self.since.elapsed() >= PATIENCE {
            self.connection.breaks_after(self.breaks);
        }
    }
}

/// The failure of a change.
enum ChangeError {
    Redis(RedisError),
    /// The server has made the change, and too few replicas have it.
    NotCopied {
        confirmed: u32,
        of: u32,
    },
}

impl From<RedisError> for ChangeError {
    fn from(error: RedisError) -> Self {
        Self::Redis(error)
    }
}

/// Returns true if a command would have replaced a key that is there.
fn is_busy_key(error: &RedisError) -> bool {
    let errors = error.clone().into_server_errors();
    errors.is_some_and(|errors| errors.iter().any(|(_, error)| error.code() == "BUSYKEY"))
}

fn one(command: Cmd) -> Pipeline {
    let mut pipeline = Pipeline::with_capacity(2);
    pipeline.add_command(command);
    pipeline
}

/// Describes an error without its text, which may quote what was sent to the server.
fn describe(address: &str, error: &RedisError) -> StoreError {
    if let Some(problem) = tls_problem(error) {
        return StoreError::new(format!(
            "Redis at {address}: {problem}; check the certificate, its CA and the host's name"
        ));
    }
    let problem = match error {
        error if error.is_connection_refusal() => "connection refused",
        error if error.is_timeout() => "no answer in time",
        error => error.category(),
    };
    let code = error
        .code()
        .map_or_else(String::new, |code| format!(" ({code})"));
    StoreError::new(format!("Redis at {address}: {problem}{code}"))
}

/// Returns the text of an error of TLS, which speaks of certificates and protocol versions only.
fn tls_problem(error: &RedisError) -> Option<String> {
    let cause = error
        .source()?
        .downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
    let cause = cause.downcast_ref::<io::Error>()?.get_ref()?;
    cause
        .downcast_ref::<rustls::Error>()
        .map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::{Attempts, CONNECT_PAUSES, RedisError, pause_after};
    use redis::ErrorKind;
    use std::time::Duration;

    #[test]
    fn pauses_between_attempts_double_up_to_a_second() {
        let pauses =
            [0, 1, 2, 6, 7, 31, u32::MAX].map(|others| pause_after(others, CONNECT_PAUSES));
        let expected = [10, 20, 40, 640, 1_000, 1_000, 1_000].map(Duration::from_millis);
        assert_eq!(pauses, expected);
    }

    #[test]
    fn attempt_waits_for_the_pause_after_a_failure() {
        let mut attempts = Attempts::default();
        assert!(attempts.check().is_ok());
        // So that the pause outlasts the test.
        attempts.failures = 20;
        attempts.failed(&RedisError::from((ErrorKind::Io, "refused")));
        assert!(attempts.check().is_err());
        attempts.succeeded();
        assert!(attempts.check().is_ok());
    }
}
