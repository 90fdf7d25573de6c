//! The journal in Redis, which processes share. A script decides which of two processes runs a call.
//! Times are those of the server's clock.

use crate::journal_keys::{JournalOptions, digest, journal_error};
use crate::redis::connection::{Connection, hash_tag, milliseconds, readable};
use crate::redis::scripts::{
    BeatJournal, FindJournalCall, FinishJournalCall, JOURNAL_BEAT, JOURNAL_FIND, JOURNAL_FINISH,
    JOURNAL_READ, JOURNAL_START, OrEmpty, ReadJournal, ScriptArguments, StartJournalCall,
};
use crate::redis::store::RedisStore;
use crate::sign_of_life::SignOfLife;
use redis::{FromRedisValue, ParsingError, Value, from_redis_value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tool_core::serde_json;
use tool_core::session::{
    Journal, JournalEntry, JournalError, JournalStart, RecoveredCall, StoreError,
};

/// The [`Journal`] on the server of a [`RedisStore`], which all processes with the server share:
/// [`RedisStore::journal`] creates it.
///
/// A call that another process has started is not started again. While that process lives, the call
/// is a `CONFLICT`; once it has ended, the call gets the response that was recorded, or is `UNKNOWN`
/// if its tool may have changed something.
///
/// An entry is as durable as the server's writes are: without `appendfsync always`, or after a
/// failover, the newest entries may be lost, and their calls may run again.
///
/// The journal keeps arguments and responses as they are, for 7 days by default. Give the runtime a
/// [signing key](tool_core::session::RuntimeBuilder::signing_key), so that no response is read from a
/// value that someone has changed.
pub struct RedisJournal {
    connection: Arc<Connection>,
    prefix: String,
    options: JournalOptions,
    sign_of_life: SignOfLife,
}

impl RedisStore {
    /// Creates the journal of this process on the store's server, under the store's prefix.
    ///
    /// ```no_run
    /// use tool_adapters::stores::RedisStore;
    /// use tool_core::{Runtime, ToolContext};
    ///
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = RedisStore::connect("redis://localhost:6379").await?;
    /// let journal = store.journal();
    /// let runtime = Runtime::builder(ToolContext::builder().build()?)
    ///     .store(store)
    ///     .journal(journal)
    ///     .signing_key([7; 32]) // 32 random bytes that you keep with your secrets
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn journal(&self) -> RedisJournal {
        RedisJournal {
            connection: self.shared_connection(),
            prefix: self.key_prefix().to_owned(),
            options: JournalOptions::default(),
            sign_of_life: SignOfLife::default(),
        }
    }
}

impl RedisJournal {
    /// Sets the time after which other processes count this one as killed, if it gives no sign of
    /// life. It gives one three times as often. Defaults to 10 s, and is at least 100 ms.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.set_lease(lease);
        self
    }

    /// Sets the age at which calls are removed. Defaults to 7 days.
    #[must_use]
    pub fn keep(mut self, keep: Duration) -> Self {
        self.options.keep = keep;
        self
    }

    /// Tells other processes that this one lives, now and until the journal is dropped.
    async fn show_life(&self) -> Result<(), JournalError> {
        let connection = Arc::clone(&self.connection);
        let keys = self.keys("");
        let options = self.options.clone();
        let beat = move || beat(Arc::clone(&connection), keys.clone(), options.clone());
        self.sign_of_life.give(self.options.lease, beat).await
    }

    fn keys(&self, session: &str) -> [String; 3] {
        let tag = hash_tag(&self.prefix);
        let session = digest(session);
        [
            format!("{tag}:journal:{session}:calls"),
            format!("{tag}:journal:{session}:order"),
            format!("{tag}:journal:processes"),
        ]
    }

    async fn start(&self, call: &JournalEntry) -> Result<JournalStart, StoreError> {
        let entry = serde_json::to_string(call).map_err(|error| {
            StoreError::with_source("failed to write an entry of the journal as JSON", error)
        })?;
        let start = StartJournalCall {
            process: &self.options.process,
            id: &call.call_id,
            entry: &entry,
            limit: milliseconds(Duration::from_millis(call.time_limit_ms)),
            replaces: OrEmpty(call.replaces),
            keep: milliseconds(self.options.keep),
        };
        let mut script = JOURNAL_START.key(&self.keys(&call.session)[..]);
        start.add_to(&mut script);
        let answer: StartAnswer = self.connection.script(&script).await?;
        answer.into_start()
    }

    async fn find_call(&self, session: &str, id: &str) -> Result<Option<JournalStart>, StoreError> {
        let find = FindJournalCall {
            process: &self.options.process,
            id,
        };
        let mut script = JOURNAL_FIND.key(&self.keys(session)[..]);
        find.add_to(&mut script);
        let answer: Option<StartAnswer> = self.connection.script(&script).await?;
        answer.map(StartAnswer::into_start).transpose()
    }

    async fn finish(&self, session: &str, id: &str, response: &str) -> Result<(), StoreError> {
        let finish = FinishJournalCall {
            process: &self.options.process,
            id,
            response,
        };
        let mut script = JOURNAL_FINISH.key(&self.keys(session)[..]);
        finish.add_to(&mut script);
        self.connection.script(&script).await
    }

    async fn calls_of_others(&self, session: &str) -> Result<Vec<RecoveredCall>, StoreError> {
        let read = ReadJournal {
            process: &self.options.process,
        };
        let mut script = JOURNAL_READ.key(&self.keys(session)[..]);
        read.add_to(&mut script);
        let found: Vec<KnownCall> = self.connection.script(&script).await?;

        let mut calls = Vec::with_capacity(found.len());
        for call in found {
            // The call of an entry that is left out does not run: its start finds the entry again.
            let Some(entry) = readable(&call.entry, "an entry of the journal") else {
                continue;
            };
            calls.push(RecoveredCall {
                entry,
                response: call.response,
                number: call.number,
            });
        }
        Ok(calls)
    }
}

async fn beat(
    connection: Arc<Connection>,
    keys: [String; 3],
    options: JournalOptions,
) -> Result<(), JournalError> {
    let beat = BeatJournal {
        process: &options.process,
        lease: milliseconds(options.lease),
    };
    let mut script = JOURNAL_BEAT.key(&keys[..]);
    beat.add_to(&mut script);
    connection.script(&script).await.map_err(journal_error)
}

/// A call as the server has it.
struct KnownCall {
    entry: String,
    response: Option<String>,
    number: u64,
}

impl KnownCall {
    fn of(values: &[Value]) -> Result<Self, ParsingError> {
        let [entry, response, number] = values else {
            return Err("expected the three values of a call in the journal".into());
        };
        Ok(Self {
            entry: from_redis_value(entry.clone())?,
            response: from_redis_value(response.clone())?,
            number: from_redis_value(number.clone())?,
        })
    }
}

impl FromRedisValue for KnownCall {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Self::of(&Vec::<Value>::from_redis_value(value)?)
    }
}

/// The answer of the script that records a call.
enum StartAnswer {
    Recorded,
    Running,
    Known(KnownCall),
}

impl StartAnswer {
    fn into_start(self) -> Result<JournalStart, StoreError> {
        let call = match self {
            Self::Recorded => return Ok(JournalStart::Recorded),
            Self::Running => return Ok(JournalStart::Running),
            Self::Known(call) => call,
        };
        let entry = serde_json::from_str(&call.entry)
            .map_err(|_| StoreError::new("the server holds an invalid entry of the journal"))?;
        Ok(JournalStart::Known(Box::new(RecoveredCall {
            entry,
            response: call.response,
            number: call.number,
        })))
    }
}

impl FromRedisValue for StartAnswer {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let values = Vec::<Value>::from_redis_value(value)?;
        let Some((decision, call)) = values.split_first() else {
            return Err("expected a decision".into());
        };
        match &*String::from_redis_value(decision.clone())? {
            "recorded" => Ok(Self::Recorded),
            "running" => Ok(Self::Running),
            "known" => Ok(Self::Known(KnownCall::of(call)?)),
            _ => Err("expected a decision that this program knows".into()),
        }
    }
}

impl Journal for RedisJournal {
    async fn started(&self, call: &JournalEntry) -> Result<JournalStart, JournalError> {
        self.show_life().await?;
        self.start(call).await.map_err(journal_error)
    }

    async fn find(
        &self,
        session: &str,
        call_id: &str,
    ) -> Result<Option<JournalStart>, JournalError> {
        let found = self.find_call(session, call_id).await;
        found.map_err(journal_error)
    }

    async fn finished(
        &self,
        session: &str,
        call_id: &str,
        response: &str,
    ) -> Result<(), JournalError> {
        let finished = self.finish(session, call_id, response).await;
        finished.map_err(journal_error)
    }

    async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        self.calls_of_others(session).await.map_err(journal_error)
    }

    async fn forget(&self, session: &str) -> Result<(), JournalError> {
        let [calls, order, _] = self.keys(session);
        let mut removal = redis::pipe();
        removal.del(&[calls, order]).ignore();
        self.connection
            .pipeline(&removal)
            .await
            .map_err(journal_error)
    }
}

impl fmt::Debug for RedisJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisJournal")
            .field("address", &self.connection.address)
            .field("prefix", &self.prefix)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
