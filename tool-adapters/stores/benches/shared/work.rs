//! The tool that is called, and the runtime that governs its calls.

use serde_json::json;
use std::time::{Duration, Instant};
use tool_adapters::stores::{PostgresStore, RedisStore};
use tool_core::session::{MemoryStore, SessionStore};
use tool_core::{Mode, Policy, Runtime, Session, ToolCall, ToolContext, toolset};

/// The calls of a turn.
pub const CALLS_OF_A_TURN: u32 = 8;

/// A tool that says when it runs.
struct Clock {
    began: Instant,
}

#[toolset(discover = false)]
impl Clock {
    /// Tell the time.
    ///
    /// * `number` - The number of the call
    #[tool(category = "action")]
    async fn tell(&self, number: u32) -> u64 {
        let _ = number;
        nanos(self.began.elapsed())
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Makes governed calls over a store.
#[derive(Clone)]
pub struct Caller {
    runtime: Runtime,
    began: Instant,
}

/// How long a call took.
pub struct CallTime {
    /// The time until its tool ran.
    pub admission: Duration,
    /// The time until it was answered.
    pub whole: Duration,
}

impl Caller {
    pub fn new(store: impl SessionStore) -> Self {
        let began = Instant::now();
        let tools = ToolContext::builder().with(Clock { began }).build();
        let policy = Policy::text().store_deadline(Duration::from_secs(20));
        let runtime = Runtime::builder(tools.expect("the tools build"))
            .policy(policy)
            .store(store)
            .signing_key([7; 32])
            .build()
            .expect("the runtime builds");
        Self { runtime, began }
    }

    /// Returns one over the store at a URL. Without one, over a store in memory.
    pub async fn over(url: Option<&str>) -> Self {
        match url {
            None => Self::new(MemoryStore::new()),
            Some(url) if url.starts_with("redis") => {
                let store = RedisStore::connect(url).await;
                Self::new(store.expect("Redis answers").prefix("bench"))
            }
            Some(url) => {
                let store = PostgresStore::connect(url).await;
                Self::new(store.expect("PostgreSQL answers"))
            }
        }
    }

    pub async fn open(&self, id: &str) -> Session {
        let opened = self.runtime.session(id, Mode::Text).principal(id).await;
        opened.expect("the session opens")
    }

    pub async fn call(&self, session: &Session, number: u32) -> CallTime {
        let call = ToolCall::new(
            format!("call-{number}"),
            "tell",
            json!({ "number": number }),
        );
        let began = self.began.elapsed();
        let response = session.call(call).await;
        let ended = self.began.elapsed();

        let told = response.data_json().unwrap_or_default();
        let ran = told
            .parse()
            .unwrap_or_else(|_| panic!("the call did not run: {response:?}"));
        CallTime {
            admission: Duration::from_nanos(ran).saturating_sub(began),
            whole: ended.saturating_sub(began),
        }
    }
}
