//! The store, which opens sessions.

use crate::kept_values::milliseconds;
use crate::random::random_number;
use crate::redis::asked;
use crate::redis::connection::Connection;
use crate::redis::earlier;
use crate::redis::keys::{KeySpace, slot_member};
use crate::redis::open_sessions::OpenSessions;
use crate::redis::permits;
use crate::redis::record::{RedisRecord, SessionUpdate, decode_mode};
use crate::redis::scripts::{Caller, OpenSession, OrEmpty, ScriptArguments, SessionScript};
use crate::redis::session_keys::SessionKeys;
use std::fmt;
use std::sync::Arc;
use tokio::sync::OnceCell;
use tool_core::SessionId;
use tool_core::session::{
    ApprovalPage, ApprovalPlace, OpenError, OpenRequest, PermitRequest, PermitVerdict, SessionCall,
    SessionStore, StoreError,
};

/// Keeps sessions in Redis (7.0 or later), so that their limits hold across processes, and
/// conversations ([`HistoryStore`](tool_core::session::HistoryStore)).
///
/// Joining a session, admitting a call, settling it and keeping it take one round trip each; the
/// book's page on deployment lists what takes more. A call is settled only where it has something
/// to record. A session that is not used expires by the server's clock, and so does each key. While
/// the server is down, each operation fails at once. Conversations do not expire: give the server
/// no `maxmemory-policy` that evicts keys without an expiry.
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
/// # The URL
///
/// | URL | connects to |
/// |---|---|
/// | `redis://user:password@host:6379/0` | one server |
/// | `redis+sentinel://user:password@host:26379,host:26379/main` | the primary that the sentinels call `main` |
/// | `redis+cluster://user:password@host:6379,host:6379` | a cluster, of which you name some nodes |
///
/// For the database 3 of a primary, write `/main/3`. If the sentinels ask for a password of their
/// own, add `?sentinel_user=..&sentinel_password=..`. Write `rediss` in place of `redis` for TLS.
/// With [`builder`](Self::builder) you set your own CA, a client certificate, and the replicas that
/// have to confirm changes.
///
/// A connection that breaks is made again at the next operation, after a pause that grows to a
/// second if that fails. A command that no server has executed, because its keys are on the way to
/// another server, is sent again for up to two seconds. A command whose answer was lost is not sent
/// again. If a move of a slot is interrupted, its sessions have an error until you end the move
/// (`redis-cli --cluster fix`), as no node runs a script whose keys are not all there.
///
/// # Rights
///
/// A user of the server (ACL) needs no more than the keys of the prefix and these commands, here
/// with the prefix `tools`. `role` is for sentinels, `cluster|slots` for a cluster, and `wait` for
/// [`replicas`](crate::RedisStoreBuilder::replicas):
///
/// ```text
/// ACL SETUSER tools on >password resetkeys ~tools{* nocommands +ping +select +eval +evalsha +time +del +rename +pexpire
///   +pttl +set +exists +hset +hget +hmget +hgetall +hdel +hlen +hexists +hincrby +hsetnx +rpush +lpop +ltrim +lrange
///   +zadd +zrem +zcard +zscore +zrange +zrangebyscore +zrevrangebyscore +role +cluster|slots +wait
/// ```
///
/// # Keys of earlier versions
///
/// Earlier versions had all keys of a store in one slot: `{tools}:..`. Conversations are moved at
/// the first operation on conversations; the user needs `~{tools}:*`, `+dump` and `+restore` for
/// that, and without a right to these keys it finds none. Stop the processes of the earlier version
/// first. Their sessions, with the calls that wait in them, and their journals are not moved: drain
/// these processes, so that no call is left. The keys expire.
pub struct RedisStore {
    connection: Arc<Connection>,
    keys: KeySpace,
    open_sessions: Arc<OpenSessions>,
    /// Filled once there are no conversations of the earlier layout.
    has_moved: OnceCell<()>,
}

impl RedisStore {
    pub(crate) fn new(connection: Connection, prefix: &str) -> Self {
        let keys = KeySpace::new(prefix);
        Self {
            connection: Arc::new(connection),
            open_sessions: Arc::new(OpenSessions::new(keys.clone())),
            keys,
            has_moved: OnceCell::new(),
        }
    }

    /// Sets the prefix of the store's keys. Stores with different prefixes share no sessions.
    /// Defaults to `tools`.
    #[must_use]
    pub fn prefix(self, prefix: &str) -> Self {
        let keys = KeySpace::new(prefix);
        Self {
            connection: self.connection,
            open_sessions: Arc::new(OpenSessions::new(keys.clone())),
            keys,
            has_moved: OnceCell::new(),
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the connection for an operation on conversations, after those of the earlier layout
    /// were moved.
    pub(crate) async fn conversations(&self) -> Result<&Connection, StoreError> {
        let moving = || earlier::move_conversations(&self.connection, &self.keys);
        self.has_moved.get_or_try_init(moving).await?;
        Ok(&self.connection)
    }

    pub(crate) fn shared_connection(&self) -> Arc<Connection> {
        Arc::clone(&self.connection)
    }

    pub(crate) fn keys(&self) -> &KeySpace {
        &self.keys
    }

    /// Joins the session that is open under the id, or opens one if `may_open` is true. Returns
    /// `None` if none is open and it may not.
    async fn join(
        &self,
        request: &OpenRequest,
        incarnation: &str,
        may_open: bool,
    ) -> Result<Option<JoinedSession>, OpenError> {
        let keys = SessionKeys::new(&self.keys, request.id.as_str());
        let caller = Caller {
            incarnation,
            known_state: OrEmpty(None),
        };
        let opening = OpenSession {
            principal: &request.principal,
            agent: &request.agent,
            mode: request.mode.as_str(),
            tools: &request.version,
            idle: milliseconds(request.idle_timeout),
            keeps: milliseconds(request.keep_calls_for),
            may_open,
        };
        let mut call = OpenSession::script().key(&keys.all[..]);
        caller.add_to(&mut call);
        opening.add_to(&mut call);
        let (answer, update): (Vec<String>, Option<SessionUpdate>) =
            self.connection.script(&call).await?;
        let words = answer.iter().map(String::as_str).collect::<Vec<_>>();
        let id = || request.id.clone();
        match (words.as_slice(), update) {
            ([word @ ("joined" | "opened"), incarnation], Some(update)) => {
                let record = RedisRecord::new(
                    Arc::clone(&self.connection),
                    Arc::clone(&self.open_sessions),
                    &self.keys,
                    request,
                    incarnation,
                )?;
                record.apply(Some(update))?;
                Ok(Some(JoinedSession {
                    record: Arc::new(record),
                    is_new: *word == "opened",
                }))
            }
            (["absent"], _) => Ok(None),
            (["principal"], _) => Err(OpenError::OtherPrincipal { id: id() }),
            (["agent"], _) => Err(OpenError::OtherAgent { id: id() }),
            (["mode", open], _) => Err(OpenError::OtherMode {
                id: id(),
                open: decode_mode(open),
            }),
            _ => Err(StoreError::new("the server sent an unexpected answer").into()),
        }
    }

    /// Opens a session after it has taken its place, or joins one that was opened meanwhile.
    /// Returns `None` if there is no place.
    async fn open_new(
        &self,
        request: &OpenRequest,
        incarnation: &str,
    ) -> Result<Option<Arc<RedisRecord>>, OpenError> {
        let member = slot_member(incarnation, request.id.as_str());
        let idle = milliseconds(request.idle_timeout);
        let reservation = self
            .open_sessions
            .reserve(&self.connection, &member, idle, request.max_sessions)
            .await?;
        let Some(reservation) = reservation else {
            return Ok(None);
        };
        if !reservation.is_valid() {
            self.open_sessions.free(&self.connection, &member).await;
            return Err(StoreError::new("the store is too slow to open a session").into());
        }
        let joined = self.join(request, incarnation, true).await;
        let is_refused = match &joined {
            Ok(Some(session)) => !session.is_new,
            Ok(None) => true,
            // If the answer is lost, the session may be open, so that it keeps its place for now.
            Err(error) => !matches!(error, OpenError::Store(_)),
        };
        if is_refused {
            self.open_sessions.free(&self.connection, &member).await;
        }
        Ok(joined?.map(|session| session.record))
    }
}

/// A session that a store has joined or opened.
struct JoinedSession {
    record: Arc<RedisRecord>,
    is_new: bool,
}

impl SessionStore for RedisStore {
    type Record = RedisRecord;

    async fn open(&self, request: &OpenRequest) -> Result<Arc<RedisRecord>, OpenError> {
        // It distinguishes the session from earlier ones of the same id.
        let incarnation = format!("{:032x}", random_number()?);
        if let Some(session) = self.join(request, &incarnation, false).await? {
            return Ok(session.record);
        }
        if let Some(record) = self.open_new(request, &incarnation).await? {
            return Ok(record);
        }
        // Sessions that have expired make room.
        let opened = if self.open_sessions.sweep(&self.connection).await? {
            self.open_new(request, &incarnation).await?
        } else {
            None
        };
        opened.ok_or(OpenError::Full {
            limit: request.max_sessions,
        })
    }

    async fn sessions(&self) -> Result<u64, StoreError> {
        self.open_sessions.count(&self.connection).await
    }

    async fn calls(&self, id: &SessionId) -> Result<Vec<SessionCall>, StoreError> {
        SessionKeys::new(&self.keys, id.as_str())
            .calls(&self.connection, None)
            .await
    }

    async fn approvals_of(
        &self,
        principal: &str,
        after: Option<&ApprovalPlace>,
        limit: u32,
    ) -> Result<ApprovalPage, StoreError> {
        asked::page(&self.connection, &self.keys, principal, after, limit).await
    }

    async fn acquire_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> Result<PermitVerdict, StoreError> {
        permits::acquire(&self.connection, &self.keys, request).await
    }

    async fn extend_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        permits::extend(&self.connection, &self.keys, request).await
    }

    async fn release_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        permits::release(&self.connection, &self.keys, request).await
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The other fields may hold keys.
        f.debug_struct("RedisStore")
            .field("address", &self.connection.address)
            .field("prefix", &self.keys.prefix)
            .finish_non_exhaustive()
    }
}
