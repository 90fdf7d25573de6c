//! The worker example: first run, changes while it serves, drafts, a kill and a restart.

#[path = "../email/server.rs"]
mod server;

#[path = "shared/cargo.rs"]
mod cargo;
#[path = "worker/changes.rs"]
mod changes;
#[path = "worker/due.rs"]
mod due;
#[path = "worker/operator.rs"]
mod operator;
#[path = "worker/several.rs"]
mod several;
#[path = "worker/support.rs"]
mod support;
#[path = "worker/tour.rs"]
mod tour;
