//! Conversations that DBOS runs on PostgreSQL, and the steps of a workflow of one's own.

#![allow(unreachable_pub)] // the modules of a test have no public interface

#[path = "../../../../examples/durable/bank.rs"]
mod bank;
#[path = "../../../tests/durable/conversations.rs"]
mod conversations;
#[path = "../../../../examples/durable/dbos.rs"]
mod dbos;
#[path = "../../../../examples/durable/engine.rs"]
mod engine;
#[path = "../../../tests/durable/remind.rs"]
mod remind;
mod steps;
mod take_over;
#[path = "../../../../examples/durable/worker.rs"]
mod worker;

use dbos::Dbos as Tested;
