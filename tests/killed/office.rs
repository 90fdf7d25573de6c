//! The tools of the conversation, and the ledger of their effects, which no store knows.

use crate::points::reach;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_core::session::CapScope;
use tool_core::trace::Cost;
use tool_core::{Category, Policy, RunContext, ToolContext, toolset};

/// The actions that a turn may take.
pub const ACTIONS: u32 = 14;
/// The translations that a session may pay for.
pub const TRANSLATIONS: u64 = 6;
/// The cost of a translation in millionths of a dollar.
const PRICE: u64 = 10;

/// The policy of every process.
pub fn policy() -> Policy {
    Policy::text()
        .category_budget(Category::Action, Some(ACTIONS))
        .max_cost(CapScope::Session, Some(Cost::micros(TRANSLATIONS * PRICE)))
}

/// The tools, whose effects go to the ledger in this folder.
pub fn tools(folder: &Path) -> ToolContext {
    let office = Office {
        ledger: Arc::new(Ledger::open(folder)),
    };
    let tools = ToolContext::builder().with(office);
    tools.build().expect("the tools build")
}

/// What happens outside of the program: one line at the beginning and one at the end of an effect.
pub struct Ledger(Mutex<File>);

/// The beginnings and the ends of effects, each as the id of its call.
#[derive(Debug, Default)]
pub struct Effects {
    pub begun: Vec<String>,
    pub ended: Vec<String>,
}

impl Effects {
    /// Reads the effects of all processes.
    pub fn read(folder: &Path) -> Self {
        let text = std::fs::read_to_string(ledger_file(folder)).unwrap_or_default();
        let mut effects = Self::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("begin", id)) => effects.begun.push(id.to_owned()),
                Some(("end", id)) => effects.ended.push(id.to_owned()),
                _ => panic!("a line of the ledger: {line}"),
            }
        }
        effects
    }

    /// Returns how often a call has begun its effect.
    pub fn count(&self, call_id: &str) -> usize {
        self.begun.iter().filter(|id| *id == call_id).count()
    }

    /// Returns true if the effect of a call has ended.
    pub fn has_ended(&self, call_id: &str) -> bool {
        self.ended.iter().any(|id| id == call_id)
    }
}

fn ledger_file(folder: &Path) -> PathBuf {
    folder.join("ledger")
}

impl Ledger {
    fn open(folder: &Path) -> Self {
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).open(ledger_file(folder));
        Self(Mutex::new(file.expect("the ledger opens")))
    }

    /// Writes a line, which is there even if the process dies now.
    fn write(&self, what: &str, ctx: &RunContext) {
        let id = ctx.call_id().expect("a call has an id");
        let mut file = self.0.lock().expect("no writer panics");
        file.write_all(format!("{what} {id}\n").as_bytes())
            .expect("the ledger is written");
        file.sync_data().expect("the ledger is on the disk");
    }

    /// Has the effect of a call.
    async fn effect(&self, ctx: &RunContext) {
        pause().await;
        reach("before an effect");
        self.write("begin", ctx);
        reach("in an effect");
        pause().await;
        self.write("end", ctx);
        reach("after an effect");
        pause().await;
    }
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

#[derive(Clone)]
struct Office {
    ledger: Arc<Ledger>,
}

#[toolset(discover = false)]
impl Office {
    /// Send a letter.
    #[tool(category = "action")]
    async fn send(&self, ctx: &RunContext, number: u32) -> u32 {
        self.ledger.effect(ctx).await;
        number
    }

    /// Put a letter into its folder.
    #[tool(category = "action", idempotent)]
    async fn file(&self, ctx: &RunContext, number: u32) -> u32 {
        self.ledger.effect(ctx).await;
        number
    }

    /// Find a letter.
    #[tool(category = "retrieval")]
    async fn find(&self, number: u32) -> u32 {
        pause().await;
        number
    }

    /// Print a letter.
    #[tool(category = "action")]
    async fn print(&self, ctx: &RunContext, number: u32) -> u32 {
        for page in 1..=5 {
            ctx.update(format!("page {page}"));
            pause().await;
        }
        self.ledger.effect(ctx).await;
        number
    }

    /// Translate a letter, which costs money.
    #[tool(category = "action")]
    async fn translate(&self, ctx: &RunContext, number: u32) -> u32 {
        self.ledger.effect(ctx).await;
        ctx.record_cost("translation", Cost::micros(PRICE));
        reach("after a cost");
        number
    }

    /// Pay a bill.
    #[tool(category = "action", confirm)]
    async fn pay(&self, ctx: &RunContext, number: u32) -> u32 {
        self.ledger.effect(ctx).await;
        number
    }
}
