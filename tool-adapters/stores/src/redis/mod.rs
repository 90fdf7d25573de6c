//! Sessions in Redis, so that many processes hold them to the same limits, and conversations.
//!
//! Scripts on the server decide everything, each in one round trip and in one slot of a cluster.
//! `keys.rs` says which keys are in one slot, and why an operation that needs two slots leaves
//! nothing half done if its process dies between them. No lock is held across two round trips.
//! Times are those of the server's clock.

mod address;
mod asked;
mod builder;
mod connection;
mod conversation_keys;
mod earlier;
mod histories;
mod journal;
mod keys;
mod link;
mod open_sessions;
mod permits;
mod record;
mod script;
mod scripts;
mod session_keys;
mod store;

pub use crate::redis::builder::RedisStoreBuilder;
pub use crate::redis::journal::{RedisCalls, RedisJournal};
pub use crate::redis::record::RedisRecord;
pub use crate::redis::store::RedisStore;
