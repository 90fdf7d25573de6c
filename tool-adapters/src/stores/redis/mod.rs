//! Sessions in Redis, so that many processes hold them to the same limits.
//!
//! Everything that is decided is decided by a script on the server, in one round trip: no lock is held across two, and
//! a process that dies leaves nothing half done. The server's clock is the only one that counts.

pub(crate) mod record;
pub(crate) mod wire;

use crate::stores::redis::record::{News, RedisRecord};
use crate::stores::redis::wire::{Keys, Places, milliseconds};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisResult, Script, ScriptInvocation};
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;
use tool_core::Mode;
use tool_core::session::{OpenError, OpenRequest, SessionStore, StoreError};

// ---- The store: opens sessions.

/// Keeps sessions in Redis (7.0 or later), so that their limits hold across processes.
///
/// Admitting a call is one round trip, settling it another. A session that nobody uses expires by the server's clock.
/// While the server is down every operation fails at once, and works again when it is back.
///
/// ```no_run
/// use tool_adapters::stores::RedisStore;
///
/// # async fn open() -> Result<(), tool_core::session::StoreError> {
/// let store = RedisStore::connect("redis://127.0.0.1/").await?.prefix("support");
/// # Ok(())
/// # }
/// ```
pub struct RedisStore {
    link: Arc<Link>,
    places: Arc<Places>,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, prefix) = (self.link.address(), self.places.prefix());
        f.debug_struct("RedisStore").field("address", &address).field("prefix", &prefix).finish()
    }
}

const PREFIX: &str = "tools";

impl RedisStore {
    /// Connects to the server at a URL such as `redis://user:password@host:6379/0`, and fails where it is not to be
    /// reached. No error and no log shows the password.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        let store = Self::lazy(url)?;
        let () = store.link.pipeline(redis::pipe().ping().ignore()).await?;
        Ok(store)
    }

    /// Connects when it is first used. Has to be called within a tokio runtime.
    pub fn lazy(url: &str) -> Result<Self, StoreError> {
        Ok(Self { link: Arc::new(Link::lazy(url)?), places: Arc::new(Places::new(PREFIX)) })
    }

    /// What the keys begin with, `tools` unless told. Stores with different prefixes know nothing of one another.
    #[must_use]
    pub fn prefix(self, prefix: &str) -> Self {
        Self { places: Arc::new(Places::new(prefix)), ..self }
    }

    async fn join_or_create(&self, opening: &OpenRequest) -> Result<Arc<RedisRecord>, OpenError> {
        if let Some(open) = self.script(opening, "").await? {
            return Ok(open);
        }
        let incarnation = incarnation()?;
        let member = wire::member(&incarnation, opening.id.as_str());
        if !self.places.take(&self.link, &member, opening.idle_timeout, opening.max_sessions).await? {
            return Err(OpenError::Full { limit: opening.max_sessions });
        }
        let opened = self.script(opening, &incarnation).await;
        match opened {
            Ok(Some(record)) if record.incarnation() == incarnation => Ok(record),
            // Somebody else opened it in between. Where the place cannot be given back, it is free after the idle time.
            other => {
                _ = self.places.free(&self.link, &member).await;
                let gone = || OpenError::Store(StoreError::new("the server did not open the session"));
                other?.map_or_else(|| Err(gone()), Ok)
            }
        }
    }

    /// Joins a session; where there is none, and an incarnation for it, opens it.
    async fn script(&self, opening: &OpenRequest, incarnation: &str) -> Result<Option<Arc<RedisRecord>>, OpenError> {
        let keys = Keys::new(self.places.prefix(), opening.id.as_str());
        let mut call = OPEN.key(keys.all());
        call.arg(incarnation).arg("").arg(0).arg(opening.mode.as_str()).arg(&*opening.version);
        call.arg(milliseconds(opening.idle_timeout)).arg(u8::from(!incarnation.is_empty()));
        let (answer, news): (Vec<String>, Option<News>) = self.link.script(&call).await?;
        match (answer.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), news) {
            (["joined" | "opened", incarnation], Some(news)) => {
                let (link, places) = (Arc::clone(&self.link), Arc::clone(&self.places));
                let record = RedisRecord::new(link, places, keys, opening.id.as_str(), incarnation);
                record.learn(Some(news))?;
                Ok(Some(Arc::new(record)))
            }
            (["mode", open], _) => Err(OpenError::OtherMode { id: opening.id.clone(), open: mode(open) }),
            _ => Ok(None),
        }
    }
}

fn mode(word: &str) -> Mode {
    if word == Mode::Voice.as_str() { Mode::Voice } else { Mode::Text }
}

/// What tells a session from an earlier one under the same id.
fn incarnation() -> Result<String, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| StoreError::new("the system gives no random numbers"))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

impl SessionStore for RedisStore {
    type Record = RedisRecord;

    async fn open(&self, request: &OpenRequest) -> Result<Arc<RedisRecord>, OpenError> {
        self.join_or_create(request).await
    }

    async fn sessions(&self) -> Result<u64, StoreError> {
        self.places.taken(&self.link).await
    }
}

// ---- The connection: one per store, shared by all sessions, made anew when it breaks.

pub(crate) struct Link {
    client: Client,
    manager: Mutex<ConnectionManager>,
    /// Host and port, without what is secret in the URL.
    address: String,
}

/// A server that does not take a connection within this time is down.
const CONNECT: Duration = Duration::from_millis(500);
/// One that does not answer within this time is, too.
const ANSWER: Duration = Duration::from_secs(2);

impl Link {
    /// A link that connects when it is first used. Needs a tokio runtime.
    pub(crate) fn lazy(url: &str) -> Result<Self, StoreError> {
        // What the parser says of a URL may quote it, with the password in it.
        let client = Client::open(url).map_err(|error| {
            StoreError::new(format!("the URL of the Redis server does not serve: {}", error.category()))
        })?;
        let address = client.get_connection_info().addr().to_string();
        let manager = manager(&client).map_err(|error| describe(&address, &error))?;
        Ok(Self { client, manager: Mutex::new(manager), address })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) async fn script<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, StoreError> {
        let mut manager = self.manager();
        self.seen(call.invoke_async(&mut manager).await)
    }

    pub(crate) async fn pipeline<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, StoreError> {
        let mut manager = self.manager();
        self.seen(commands.query_async(&mut manager).await)
    }

    fn manager(&self) -> ConnectionManager {
        self.manager.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn seen<T>(&self, result: RedisResult<T>) -> Result<T, StoreError> {
        result.map_err(|error| {
            // The manager remembers a login that failed as its answer for ever; passwords are changed on servers too.
            if error.kind() == ErrorKind::AuthenticationFailed
                && let Ok(fresh) = manager(&self.client)
            {
                *self.manager.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
            }
            describe(&self.address, &error)
        })
    }
}

fn manager(client: &Client) -> RedisResult<ConnectionManager> {
    // No retries: whoever asks while the server is down is told so at once, and the next to ask tries again.
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(0)
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(ANSWER));
    ConnectionManager::new_lazy_with_config(client.clone(), config)
}

/// What went wrong, in words of ours: a server's own may quote what it was sent.
fn describe(address: &str, error: &RedisError) -> StoreError {
    let what = match error {
        error if error.is_connection_refusal() => "it refuses connections",
        error if error.is_timeout() => "it does not answer in time",
        error => error.category(),
    };
    match error.code() {
        Some(code) => StoreError::new(format!("Redis at {address}: {what} ({code})")),
        None => StoreError::new(format!("Redis at {address}: {what}")),
    }
}

// ---- The scripts, each loaded into a server when it first says that it does not know it.

macro_rules! scripts {
    ($($name:ident = $($file:literal)+;)*) => {
        $(pub(crate) static $name: LazyLock<Script> =
            LazyLock::new(|| Script::new(concat!($(include_str!(concat!("lua/", $file, ".lua")), "\n"),+)));)*
    };
}

scripts! {
    OPEN = "session" "open";
    ADMIT = "session" "admit";
    SETTLE = "session" "settle";
    NEXT_TURN = "session" "next_turn";
    MINT = "session" "mint";
    PENDING = "session" "pending";
    CHANGE = "session" "change";
    END = "session" "end";
    REFRESH = "session" "refresh";
    RESERVE = "reserve";
    STALE = "stale";
    REVISE = "revise";
}
