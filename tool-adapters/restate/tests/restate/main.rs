//! Conversations that a server of Restate runs, and the steps of an object of one's own.

#![allow(unreachable_pub)] // the modules of a test have no public interface

#[path = "../../../../examples/durable/bank.rs"]
mod bank;
#[path = "../../../tests/durable/conversations.rs"]
mod conversations;
#[path = "../../../../examples/durable/engine.rs"]
mod engine;
#[path = "../../../tests/durable/remind.rs"]
mod remind;
#[path = "../../../../examples/durable/restate.rs"]
mod restate;
#[path = "../../../../examples/durable/server.rs"]
mod server;
mod steps;
#[path = "../../../../examples/durable/worker.rs"]
mod worker;

use restate::Restate as Tested;
