//! The store: opens sessions.

use super::encode::milliseconds;
use super::keys::Keys;
use super::link::Link;
use super::mirror::News;
use super::places::{self, Places};
use super::record::RedisRecord;
use super::scripts;
use std::fmt;
use std::sync::Arc;
use tool_core::Mode;
use tool_core::session::{OpenError, OpenRequest, Operation, SessionRecord, SessionStore, StoreError};

/// Keeps sessions in Redis (7.0 or later), so that their limits hold across processes.
///
/// Admitting a call is one round trip, settling it another. A session that nobody uses expires by the server's clock.
/// While the server is down every operation fails at once, and works again when it is back.
///
/// ```no_run
/// use tool_adapters::redis::RedisStore;
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

    async fn join_or_make(&self, opening: &OpenRequest) -> Result<Arc<dyn SessionRecord>, OpenError> {
        if let Some(open) = self.script(opening, "").await? {
            return Ok(open);
        }
        let incarnation = incarnation()?;
        let member = places::member(&incarnation, opening.id.as_str());
        if !self.places.take(&self.link, &member, opening.idle, opening.max_sessions).await? {
            return Err(OpenError::Full { limit: opening.max_sessions });
        }
        let opened = self.script(opening, &incarnation).await;
        match opened {
            Ok(Some(record)) if record.incarnation() == incarnation => Ok(record),
            // Somebody else opened it in between. Where the place cannot be given back, it is free after the idle time.
            other => {
                _ = self.places.free(&self.link, &member).await;
                let gone = || OpenError::Store(StoreError::new("the server did not open the session"));
                other?.map_or_else(|| Err(gone()), |record| Ok(record as _))
            }
        }
    }

    /// Joins a session; where there is none, and an incarnation for it, opens it.
    async fn script(&self, opening: &OpenRequest, incarnation: &str) -> Result<Option<Arc<RedisRecord>>, OpenError> {
        let keys = Keys::new(self.places.prefix(), opening.id.as_str());
        let mut call = scripts::OPEN.key(keys.all());
        call.arg(incarnation).arg("").arg(0).arg(opening.mode.as_str()).arg(&*opening.version);
        call.arg(milliseconds(opening.idle)).arg(u8::from(!incarnation.is_empty()));
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
    fn open<'a>(&'a self, opening: &'a OpenRequest) -> Operation<'a, Result<Arc<dyn SessionRecord>, OpenError>> {
        Operation::later(self.join_or_make(opening))
    }

    fn sessions(&self) -> Operation<'_, Result<u64, StoreError>> {
        Operation::later(self.places.taken(&self.link))
    }
}
