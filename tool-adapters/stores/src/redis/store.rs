//! The store, which opens sessions.

use crate::random::random_number;
use crate::redis::asked;
use crate::redis::connection::{Connection, SessionKeys, SessionSlots, milliseconds, slot_member};
use crate::redis::permits;
use crate::redis::record::{RedisRecord, SessionUpdate, decode_mode};
use crate::redis::scripts::{Caller, OpenSession, OrEmpty, ScriptArguments, SessionScript};
use std::fmt;
use std::sync::Arc;
use tool_core::SessionId;
use tool_core::session::{
    ApprovalPage, ApprovalPlace, OpenError, OpenRequest, PermitRequest, PermitVerdict, SessionCall,
    SessionStore, StoreError,
};

/// The default prefix of keys.
const PREFIX: &str = "tools";

/// Keeps sessions in Redis (7.0 or later), so that their limits hold across processes, and
/// conversations ([`HistoryStore`](tool_core::session::HistoryStore)).
///
/// Opening a session, joining it, admitting a call, settling it and keeping it take one round trip
/// each. A call is settled only where it has something to record. A session that is not used
/// expires by the server's clock, and so does each key. While the server is down, each operation
/// fails at once. Conversations do not expire: give the server no `maxmemory-policy` that evicts
/// keys without an expiry.
///
/// ```no_run
/// use tool_adapters::stores::RedisStore;
///
/// # async fn open() -> Result<(), tool_core::session::StoreError> {
/// let store = RedisStore::connect("redis://127.0.0.1/").await?.prefix("support");
/// # Ok(())
/// # }
/// ```
///
/// # Rights
///
/// A user of the server (ACL) needs no more than the keys of the prefix and these commands; the
/// prefix `tools` stands in braces, as it is the hash tag of the keys:
///
/// ```text
/// ACL SETUSER tools on >password resetkeys ~{tools}:* nocommands +ping +select +evalsha +script|load +time +del +rename
///   +pexpire +pttl +hset +hget +hmget +hgetall +hdel +hlen +hexists +hincrby +rpush +lpop +ltrim +lrange +zadd +zrem
///   +zcard +zscore +zrange +zrangebyscore +zrevrangebyscore +hsetnx +exists
/// ```
pub struct RedisStore {
    connection: Arc<Connection>,
    slots: Arc<SessionSlots>,
}

impl RedisStore {
    /// Connects to the server at a URL such as `redis://user:password@host:6379/0`, or
    /// `rediss://..` over TLS. Fails if the server cannot be reached. No error and no log shows the
    /// password.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::lazy(url)?.connected().await
    }

    /// Connects over TLS to a server whose certificate was signed by a CA of the host's own. `ca`
    /// holds the CA's certificate in PEM. The certificates that the system trusts are not used.
    ///
    /// ```no_run
    /// use tool_adapters::stores::RedisStore;
    ///
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let ca = std::fs::read("ca.pem")?;
    /// let store = RedisStore::connect_with_ca("rediss://tools:password@redis.internal:6380/", &ca).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect_with_ca(url: &str, ca: &[u8]) -> Result<Self, StoreError> {
        Self::new(Connection::lazy(url, Some(ca))?)
            .connected()
            .await
    }

    /// Creates a store that connects at its first use. Must be called within a tokio runtime.
    pub fn lazy(url: &str) -> Result<Self, StoreError> {
        Ok(Self::new(Connection::lazy(url, None)?))
    }

    fn new(connection: Connection) -> Self {
        Self {
            connection: Arc::new(connection),
            slots: Arc::new(SessionSlots::new(PREFIX)),
        }
    }

    async fn connected(self) -> Result<Self, StoreError> {
        let () = self
            .connection
            .pipeline(redis::pipe().ping().ignore())
            .await?;
        Ok(self)
    }

    /// Sets the prefix of the store's keys. Stores with different prefixes share no sessions.
    /// Defaults to `tools`.
    #[must_use]
    pub fn prefix(self, prefix: &str) -> Self {
        Self {
            slots: Arc::new(SessionSlots::new(prefix)),
            ..self
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn shared_connection(&self) -> Arc<Connection> {
        Arc::clone(&self.connection)
    }

    pub(crate) fn key_prefix(&self) -> &str {
        &self.slots.prefix
    }

    /// Joins a session or opens it. Returns `None` if there is no slot for it.
    async fn try_open(&self, request: &OpenRequest) -> Result<Option<Arc<RedisRecord>>, OpenError> {
        let keys = SessionKeys::new(&self.slots.prefix, request.id.as_str(), &request.principal);
        // It distinguishes the session from earlier ones of the same id.
        let incarnation = format!("{:032x}", random_number()?);
        let caller = Caller {
            incarnation: &incarnation,
            known_state: OrEmpty(None),
            known_entries: 0,
        };
        let opening = OpenSession {
            principal: &request.principal,
            agent: &request.agent,
            mode: request.mode.as_str(),
            tools: &request.version,
            idle: milliseconds(request.idle_timeout),
            keeps: milliseconds(request.keep_calls_for),
            max_sessions: request.max_sessions,
            member: &slot_member(&incarnation, request.id.as_str()),
        };
        let mut call = OpenSession::script().key(&keys.0[..]);
        caller.add_to(&mut call);
        opening.add_to(&mut call);
        let (answer, update): (Vec<String>, Option<SessionUpdate>) =
            self.connection.script(&call).await?;
        let id = || request.id.clone();
        match (
            answer
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .as_slice(),
            update,
        ) {
            (["joined" | "opened", incarnation], Some(update)) => {
                let record =
                    RedisRecord::new(Arc::clone(&self.connection), keys, request, incarnation)?;
                record.apply(Some(update))?;
                Ok(Some(Arc::new(record)))
            }
            (["principal"], _) => Err(OpenError::OtherPrincipal { id: id() }),
            (["agent"], _) => Err(OpenError::OtherAgent { id: id() }),
            (["mode", open], _) => Err(OpenError::OtherMode {
                id: id(),
                open: decode_mode(open),
            }),
            (["full"], _) => Ok(None),
            _ => Err(StoreError::new("the server sent an unexpected answer").into()),
        }
    }
}

impl SessionStore for RedisStore {
    type Record = RedisRecord;

    async fn open(&self, request: &OpenRequest) -> Result<Arc<RedisRecord>, OpenError> {
        if let Some(record) = self.try_open(request).await? {
            return Ok(record);
        }
        // Sessions that have expired make room.
        let opened = if self.slots.sweep(&self.connection).await? {
            self.try_open(request).await?
        } else {
            None
        };
        opened.ok_or(OpenError::Full {
            limit: request.max_sessions,
        })
    }

    async fn sessions(&self) -> Result<u64, StoreError> {
        self.slots.taken(&self.connection).await
    }

    async fn calls(&self, id: &SessionId) -> Result<Vec<SessionCall>, StoreError> {
        SessionKeys::new(&self.slots.prefix, id.as_str(), "")
            .calls(&self.connection, None)
            .await
    }

    async fn approvals_of(
        &self,
        principal: &str,
        after: Option<&ApprovalPlace>,
        limit: u32,
    ) -> Result<ApprovalPage, StoreError> {
        let prefix = &self.slots.prefix;
        asked::page(&self.connection, prefix, principal, after, limit).await
    }

    async fn acquire_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> Result<PermitVerdict, StoreError> {
        permits::acquire(&self.connection, &self.slots.prefix, request).await
    }

    async fn extend_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        permits::extend(&self.connection, &self.slots.prefix, request).await
    }

    async fn release_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        permits::release(&self.connection, &self.slots.prefix, request).await
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The other fields may hold keys.
        f.debug_struct("RedisStore")
            .field("address", &self.connection.address)
            .field("prefix", &self.slots.prefix)
            .finish_non_exhaustive()
    }
}
