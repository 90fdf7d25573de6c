//! What governed calls cost over a store that processes share: `just bench-stores`, with `REDIS_URL` and `POSTGRES_URL`.
//!
//! - `calls SECONDS`: two processes make calls over each store. Prints the calls a second, and how long a tool waits
//!   until its call is admitted.
//! - `sessions MINUTES [memory|redis]`: one process makes calls in 100,000 sessions, in memory and over Redis. Prints
//!   memory and latency each minute.
//! - `start`: the time from the start of a process to the answer of its first governed call.

#![allow(unreachable_pub)] // the modules of a program have no public interface

mod calls;
mod sessions;
mod start;
mod times;
mod work;

/// The environment variable with the work of a process that another one starts.
const PART: &str = "BENCH_STORES_PART";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    match std::env::var(PART).ok().as_deref() {
        Some("calls") => return calls::work().await,
        Some("start") => return start::first_call().await,
        _ => {}
    }

    let arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect::<Vec<_>>();
    let number = arguments.get(1).and_then(|number| number.parse().ok());
    match arguments.first().map(String::as_str) {
        Some("calls") => calls::measure(number.unwrap_or(10)),
        Some("sessions") => {
            let store = arguments.get(2).map(String::as_str);
            sessions::measure(number.unwrap_or(30), store).await;
        }
        Some("start") => start::measure(),
        _ => {
            calls::measure(10);
            start::measure();
        }
    }
}
