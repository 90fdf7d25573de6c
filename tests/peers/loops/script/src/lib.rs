//! One script for all frameworks: what the model says, what the tools do, and how a run is counted and checked.
//!
//! A program of a contestant has two commands. `count NAME WORK STEPS CONVERSATIONS` has conversations, for callgrind, which
//! counts those of `measured_region`. `check` prints a line of JSON for each case of `checks.rs`.

mod checks;
mod player;
pub mod tools;

pub use checks::check;
pub use player::{Call, Player, Said, Sent};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
pub use tokio;

/// What the user says in each conversation.
pub const QUESTION: &str = "Please do it, and tell me how it went.";
/// What the model says at the end of each conversation.
pub const ANSWER: &str = "It is done: everything went as planned.";

/// The system prompt of each agent.
pub const INSTRUCTIONS: &str = "You are a helpful assistant.";

/// The tools of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tools {
    /// `add` and `create_event`.
    Counted,
    /// The tools of the checks.
    Checked,
}

/// A framework's agent.
pub trait Contestant: Sized {
    /// The name of the row.
    const NAME: &'static str;

    /// Builds what lives longer than a conversation: the tools, the agent, the place of conversations.
    fn open(player: Arc<Player>, tools: Tools) -> impl Future<Output = Self>;

    /// Has a new conversation. Returns the last text of the model, or the error with which the loop ended.
    fn converse(&self) -> impl Future<Output = Result<String, String>>;
}

/// Runs the command that the program was started with.
#[macro_export]
macro_rules! main {
    ($($contestant:ty),+) => {
        fn main() {
            let arguments = std::env::args().skip(1).collect::<Vec<_>>();
            let arguments = arguments.iter().map(String::as_str).collect::<Vec<_>>();
            match arguments.as_slice() {
                ["names"] => {
                    $(println!("{}", <$contestant as $crate::Contestant>::NAME);)+
                }
                ["check"] => {
                    $($crate::check::<$contestant>();)+
                }
                ["count", name, work, steps, conversations] => {
                    let steps = steps.parse().expect("a number of steps");
                    let conversations = conversations.parse().expect("a number of conversations");
                    $(if *name == <$contestant as $crate::Contestant>::NAME {
                        $crate::count::<$contestant>(work, steps, conversations);
                        return;
                    })+
                    panic!("no contestant has the name {name}");
                }
                _ => panic!("usage: names | check | count NAME WORK STEPS CONVERSATIONS"),
            }
        }
    };
}

/// Returns the calls of a conversation, one a step. The arguments of two steps differ, and have the same length.
fn calls(work: &str, steps: usize) -> Vec<Call> {
    let call = |step: usize| {
        let number = 10 + step;
        match work {
            "add" => Call::new(step, "add", format!(r#"{{"a":{number},"b":3}}"#)),
            "create_event" => Call::new(
                step,
                "create_event",
                format!(
                    r#"{{"title":"Team Meeting {number}","start_time":"2026-01-06T17:00:00Z","duration_minutes":30,"attendees":["a@example.com","b@example.com"],"description":"Quarterly planning"}}"#
                ),
            ),
            _ => panic!("no work has the name {work}"),
        }
    };
    (0..steps).map(call).collect()
}

/// The conversations before the ones that are counted: what a framework prepares once is done by then.
const PREPARING: usize = 16;

/// Has conversations, each with as many steps of one call, and checks that all went as the script says.
pub fn count<C: Contestant>(work: &str, steps: usize, conversations: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let player = Arc::new(Player::new(calls(work, steps)));
    let contestant = runtime.block_on(C::open(player.clone(), Tools::Counted));
    let converse = async |conversations| {
        for _ in 0..conversations {
            player.rewind();
            let answer = contestant.converse().await;
            assert_eq!(answer.as_deref(), Ok(ANSWER));
        }
    };

    runtime.block_on(converse(PREPARING));
    measured_region(&mut || runtime.block_on(converse(conversations)));

    let all = PREPARING + conversations;
    assert_eq!(tools::RUNS.load(Relaxed), steps * all);
}

/// Callgrind counts what runs in this function, by its name.
#[inline(never)]
fn measured_region(work: &mut dyn FnMut()) {
    black_box(&work);
    work();
    black_box(&work);
}
