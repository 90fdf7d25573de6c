//! Tools that run the work of a ticket, by its number.

use super::watch::{Failed, Work};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};
use tool_core::{ToolContext, ToolError, ToolResponse, tool};

enum Job {
    Work(Work),
    Fn(Box<dyn FnOnce() + Send>),
}

static NEXT: AtomicU64 = AtomicU64::new(1);
static JOBS: LazyLock<Mutex<HashMap<u64, Job>>> = LazyLock::new(Mutex::default);

/// Work that waits for a tool. It is dropped if no tool takes it.
pub struct Ticket(pub u64);

impl Ticket {
    pub fn new(work: Work) -> Self {
        Self::of(Job::Work(work))
    }

    pub fn of_fn(work: impl FnOnce() + Send + 'static) -> Self {
        Self::of(Job::Fn(Box::new(work)))
    }

    fn of(job: Job) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        JOBS.lock().expect("no panic holds it").insert(number, job);
        Self(number)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // Its values are dropped outside the lock.
        let _job = take(self.0);
    }
}

fn take(number: u64) -> Option<Job> {
    JOBS.lock().expect("no panic holds it").remove(&number)
}

/// Do what the ticket says.
#[tool]
pub async fn work(job: u64) -> Result<(), ToolError> {
    match take(job) {
        Some(Job::Work(work)) => work.await.map_err(|_| ToolError::permanent("it fails")),
        _ => panic!("job {job} is no future"),
    }
}

/// Do what the ticket says, at once.
#[tool]
pub fn work_now(job: u64) {
    match take(job) {
        Some(Job::Fn(work)) => work(),
        _ => panic!("job {job} is no fn"),
    }
}

#[tool_core::agent("planner")]
pub async fn planner(job: u64) -> Result<(), Failed> {
    match take(job) {
        Some(Job::Work(work)) => work.await,
        _ => panic!("job {job} is no future"),
    }
}

pub fn tools() -> ToolContext {
    ToolContext::builder()
        .with(work)
        .with(work_now)
        .build()
        .expect("sound tools")
}

pub fn answered(response: &ToolResponse) -> Result<(), Failed> {
    if response.is_ok() {
        Ok(())
    } else {
        Err(Failed)
    }
}
