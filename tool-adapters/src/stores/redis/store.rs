//! The store, which opens sessions.

use crate::stores::redis::connection::{Connection, OPEN, SessionKeys, SessionSlots, milliseconds, slot_member};
use crate::stores::redis::record::{RedisRecord, SessionUpdate};
use std::fmt;
use std::sync::Arc;
use tool_core::session::{OpenError, OpenRequest, SessionCall, SessionStore, StoreError};
use tool_core::{Mode, SessionId};

/// The default prefix of keys.
const PREFIX: &str = "tools";

/// Keeps sessions in Redis (7.0 or later), so that their limits hold across processes.
///
/// Admitting a call takes one round trip, settling it another, and keeping it a third. A call is settled only where it has
/// something to record. A session that is not used expires by the server's clock.
/// While the server is down, each operation fails at once.
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
    connection: Arc<Connection>,
    slots: Arc<SessionSlots>,
}

impl RedisStore {
    /// Connects to the server at a URL such as `redis://user:password@host:6379/0`. Fails if the server cannot be reached. No
    /// error and no log shows the password.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        let store = Self::lazy(url)?;
        let () = store.connection.pipeline(redis::pipe().ping().ignore()).await?;
        Ok(store)
    }

    /// Creates a store that connects at its first use. Must be called within a tokio runtime.
    pub fn lazy(url: &str) -> Result<Self, StoreError> {
        Ok(Self { connection: Arc::new(Connection::lazy(url)?), slots: Arc::new(SessionSlots::new(PREFIX)) })
    }

    /// Sets the prefix of the store's keys. Stores with different prefixes share no sessions. Defaults to `tools`.
    #[must_use]
    pub fn prefix(self, prefix: &str) -> Self {
        Self { slots: Arc::new(SessionSlots::new(prefix)), ..self }
    }

    /// Joins a session. If it does not exist, opens it as `incarnation`, or returns `None` if that is empty.
    async fn join(&self, request: &OpenRequest, incarnation: &str) -> Result<Option<Arc<RedisRecord>>, OpenError> {
        let keys = SessionKeys::new(&self.slots.prefix, request.id.as_str());
        let mut call = OPEN.key(&keys.0[..]);
        call.arg(incarnation).arg("").arg(0).arg(request.mode.as_str()).arg(&*request.version);
        call.arg(milliseconds(request.idle_timeout)).arg(u8::from(!incarnation.is_empty()));
        call.arg(milliseconds(request.keep_calls_for));
        let (answer, update): (Vec<String>, Option<SessionUpdate>) = self.connection.script(&call).await?;
        match (answer.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), update) {
            (["joined" | "opened", incarnation], Some(update)) => {
                let (connection, slots) = (Arc::clone(&self.connection), Arc::clone(&self.slots));
                let record = RedisRecord::new(connection, slots, keys, request, incarnation);
                record.apply(Some(update))?;
                Ok(Some(Arc::new(record)))
            }
            (["mode", open], _) => {
                let open = if *open == Mode::Voice.as_str() { Mode::Voice } else { Mode::Text };
                Err(OpenError::OtherMode { id: request.id.clone(), open })
            }
            _ => Ok(None),
        }
    }
}

impl SessionStore for RedisStore {
    type Record = RedisRecord;

    async fn open(&self, request: &OpenRequest) -> Result<Arc<RedisRecord>, OpenError> {
        if let Some(record) = self.join(request, "").await? {
            return Ok(record);
        }
        let incarnation = new_incarnation()?;
        let member = slot_member(&incarnation, request.id.as_str());
        if !self.slots.take(&self.connection, &member, request.idle_timeout, request.max_sessions).await? {
            return Err(OpenError::Full { limit: request.max_sessions });
        }
        let joined = self.join(request, &incarnation).await;
        if let Ok(Some(record)) = &joined
            && record.incarnation == incarnation
        {
            return Ok(Arc::clone(record));
        }
        // Another caller opened it meanwhile. A slot that cannot be freed is free after the idle time.
        _ = self.slots.free(&self.connection, &member).await;
        joined?.ok_or_else(|| StoreError::new("the server did not open the session").into())
    }

    async fn sessions(&self) -> Result<u64, StoreError> {
        self.slots.taken(&self.connection).await
    }

    async fn calls(&self, id: &SessionId) -> Result<Vec<SessionCall>, StoreError> {
        SessionKeys::new(&self.slots.prefix, id.as_str()).calls(&self.connection).await
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, prefix) = (&self.connection.address, &self.slots.prefix);
        f.debug_struct("RedisStore").field("address", address).field("prefix", prefix).finish()
    }
}

/// Returns a random text that distinguishes a session from earlier ones of the same id.
fn new_incarnation() -> Result<String, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| StoreError::new("the operating system gave no random bytes"))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
