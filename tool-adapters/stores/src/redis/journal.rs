//! The journal in Redis. A script decides which of two processes runs a call. Each process with a
//! journal has a key that exists while it lives. Times are those of the server's clock.

use crate::kept_values::milliseconds;
use crate::redis::connection::Connection;
use crate::redis::keys::KeySpace;
use crate::redis::script::LuaScript;
use crate::redis::scripts::{
    FindJournalCall, FinishJournalCall, JOURNAL_FIND, JOURNAL_FINISH, JOURNAL_READ, JOURNAL_START,
    OrEmpty, ReadJournal, ScriptArguments, StartJournalCall,
};
use crate::redis::store::RedisStore;
use crate::store_journal::{
    JournalOptions, JournaledCalls, KnownCall, StartedCall, StoreJournal, digest,
};
use redis::{Cmd, FromRedisValue, ParsingError, Value, from_redis_value};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tool_core::session::{JournalEntry, StoreError};

/// The journal on the server of a [`RedisStore`]: [`RedisStore::journal`] creates it.
///
/// An entry is as durable as the server's writes are: without `appendfsync always` the newest
/// entries may be lost with the machine, and their calls may run again. After a failover this holds
/// for entries that no replica has confirmed: see [`replicas`](crate::RedisStoreBuilder::replicas).
pub type RedisJournal = StoreJournal<RedisCalls>;

/// The calls of a [`RedisJournal`].
#[derive(Clone)]
pub struct RedisCalls {
    connection: Arc<Connection>,
    keys: KeySpace,
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
            keys: self.keys().clone(),
        })
    }
}

/// A call of another process, as a script answers it.
struct OtherCall {
    call: KnownCall,
    /// The process that runs the call if it still lives.
    process: Option<String>,
}

impl RedisCalls {
    /// Returns the keys of a session's calls, and of their ids by number.
    fn session_keys(&self, session: &str) -> [String; 2] {
        let base = self.keys.journal(&digest(session));
        [format!("{base}:calls"), format!("{base}:order")]
    }

    /// Runs a script of the journal.
    async fn run<T: FromRedisValue>(
        &self,
        script: &'static LuaScript,
        session: &str,
        arguments: &impl ScriptArguments,
    ) -> Result<T, StoreError> {
        let mut call = script.key(&self.session_keys(session)[..]);
        arguments.add_to(&mut call);
        self.connection.script(&call).await
    }

    /// Returns the processes that live.
    async fn living(&self, processes: BTreeSet<String>) -> Result<BTreeSet<String>, StoreError> {
        let mut queries = Vec::with_capacity(processes.len());
        for process in &processes {
            let mut query = redis::cmd("EXISTS");
            query.arg(self.keys.process(process));
            queries.push(query);
        }
        let answers = self.connection.each(queries).await?;
        let mut living = BTreeSet::new();
        for (process, answer) in processes.into_iter().zip(answers) {
            if matches!(answer, Value::Int(1)) {
                living.insert(process);
            }
        }
        Ok(living)
    }

    /// Decides what another process's call is to one with its id. The process may end meanwhile;
    /// then the next question finds that.
    async fn decide(&self, other: OtherCall) -> Result<StartedCall, StoreError> {
        if let Some(process) = other.process {
            let living = self.living(BTreeSet::from([process])).await?;
            if !living.is_empty() {
                return Ok(StartedCall::Running);
            }
        }
        Ok(StartedCall::Known(other.call))
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
        let other: Option<OtherCall> = self.run(&JOURNAL_START, &call.session, &start).await?;
        match other {
            Some(other) => self.decide(other).await,
            None => Ok(StartedCall::Recorded),
        }
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
        let other: Option<OtherCall> = self.run(&JOURNAL_FIND, session, &find).await?;
        match other {
            Some(other) => self.decide(other).await.map(Some),
            None => Ok(None),
        }
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
        let others: Vec<OtherCall> = self.run(&JOURNAL_READ, session, &read).await?;
        let processes = others.iter().filter_map(|other| other.process.clone());
        let living = self.living(processes.collect()).await?;
        let mut ended = Vec::new();
        for other in others {
            let process = other.process.as_ref();
            if !process.is_some_and(|process| living.contains(process)) {
                ended.push(other.call);
            }
        }
        Ok(ended)
    }

    async fn forget(&self, session: &str) -> Result<(), StoreError> {
        let mut removal = redis::cmd("DEL");
        removal.arg(&self.session_keys(session));
        self.connection.command(removal).await
    }

    async fn beat(&self, options: &JournalOptions) -> Result<(), StoreError> {
        let mut beat = Cmd::new();
        beat.arg("SET")
            .arg(self.keys.process(&options.process))
            .arg(1)
            .arg("PX")
            .arg(milliseconds(options.lease));
        self.connection.command(beat).await
    }
}

impl FromRedisValue for OtherCall {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let values = Vec::<Value>::from_redis_value(value)?;
        let Ok([entry, response, number, process]) = <[Value; 4]>::try_from(values) else {
            return Err("expected the four values of a call in the journal".into());
        };
        Ok(Self {
            call: KnownCall {
                entry: from_redis_value(entry)?,
                response: from_redis_value(response)?,
                number: from_redis_value(number)?,
            },
            process: from_redis_value(process)?,
        })
    }
}
