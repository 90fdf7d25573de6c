//! Sessions in Redis, so that many processes hold them to the same limits, and conversations.
//!
//! Scripts on the server decide everything, each in one round trip. No lock is held across two
//! round trips, so that a process that dies leaves nothing half done. Times are those of the
//! server's clock.

mod asked;
mod connection;
mod histories;
mod journal;
mod permits;
mod record;
mod scripts;
mod store;

pub use crate::redis::journal::{RedisCalls, RedisJournal};
pub use crate::redis::record::RedisRecord;
pub use crate::redis::store::RedisStore;
