//! The journal in Redis. A script decides which of two processes runs a call. Times are those of the
//! server's clock.

use crate::redis::connection::{Connection, hash_tag, milliseconds};
use crate::redis::scripts::{
    BeatJournal, FindJournalCall, FinishJournalCall, JOURNAL_BEAT, JOURNAL_FIND, JOURNAL_FINISH,
    JOURNAL_READ, JOURNAL_START, OrEmpty, ReadJournal, ScriptArguments, StartJournalCall,
};
use crate::redis::store::RedisStore;
use crate::store_journal::{
    JournalOptions, JournaledCalls, KnownCall, StartedCall, StoreJournal, digest,
};
use redis::{FromRedisValue, ParsingError, Script, Value, from_redis_value};
use std::sync::Arc;
use std::time::Duration;
use tool_core::session::{JournalEntry, StoreError};

/// The journal on the server of a [`RedisStore`]: [`RedisStore::journal`] creates it.
///
/// An entry is as durable as the server's writes are: without `appendfsync always`, or after a
/// failover, the newest entries may be lost, and their calls may run again.
pub type RedisJournal = StoreJournal<RedisCalls>;

/// The calls of a [`RedisJournal`].
#[derive(Clone)]
pub struct RedisCalls {
    connection: Arc<Connection>,
    prefix: String,
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
        StoreJournal::new(RedisCalls {
            connection: self.shared_connection(),
            prefix: self.key_prefix().to_owned(),
        })
    }
}

impl RedisCalls {
    fn keys(&self, session: &str) -> [String; 3] {
        let tag = hash_tag(&self.prefix);
        let session = digest(session);
        [
            format!("{tag}:journal:{session}:calls"),
            format!("{tag}:journal:{session}:order"),
            format!("{tag}:journal:processes"),
        ]
    }

    /// Runs a script of the journal.
    async fn run<T: FromRedisValue>(
        &self,
        script: &Script,
        session: &str,
        arguments: &impl ScriptArguments,
    ) -> Result<T, StoreError> {
        let mut call = script.key(&self.keys(session)[..]);
        arguments.add_to(&mut call);
        self.connection.script(&call).await
    }
}

impl JournaledCalls for RedisCalls {
    async fn start(
        &self,
        options: &JournalOptions,
        call: &JournalEntry,
        entry: &str,
    ) -> Result<StartedCall, StoreError> {
        let start = StartJournalCall {
            process: &options.process,
            id: &call.call_id,
            entry,
            limit: milliseconds(Duration::from_millis(call.time_limit_ms)),
            replaces: OrEmpty(call.replaces),
            approval: call.approval.as_deref().unwrap_or_default(),
            keep: milliseconds(options.keep),
        };
        self.run(&JOURNAL_START, &call.session, &start).await
    }

    async fn find(
        &self,
        process: &str,
        session: &str,
        call_id: &str,
    ) -> Result<Option<StartedCall>, StoreError> {
        let find = FindJournalCall {
            process,
            id: call_id,
        };
        self.run(&JOURNAL_FIND, session, &find).await
    }

    async fn finish(
        &self,
        process: &str,
        session: &str,
        call_id: &str,
        response: &str,
    ) -> Result<(), StoreError> {
        let finish = FinishJournalCall {
            process,
            id: call_id,
            response,
        };
        self.run(&JOURNAL_FINISH, session, &finish).await
    }

    async fn of_others(&self, process: &str, session: &str) -> Result<Vec<KnownCall>, StoreError> {
        let read = ReadJournal { process };
        self.run(&JOURNAL_READ, session, &read).await
    }

    async fn forget(&self, session: &str) -> Result<(), StoreError> {
        let [calls, order, _] = self.keys(session);
        let mut removal = redis::pipe();
        removal.del(&[calls, order]).ignore();
        self.connection.pipeline(&removal).await
    }

    async fn beat(&self, options: &JournalOptions) -> Result<(), StoreError> {
        let beat = BeatJournal {
            process: &options.process,
            lease: milliseconds(options.lease),
        };
        self.run(&JOURNAL_BEAT, "", &beat).await
    }
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

impl FromRedisValue for StartedCall {
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
