//! Sessions in Redis, so that many processes hold them to the same limits.
//!
//! Everything that is decided is decided by a script on the server, in one round trip: no lock is held across two, and
//! a process that dies leaves nothing half done. The server's clock is the only one that counts.

mod answer;
mod encode;
mod keys;
mod link;
mod mirror;
mod places;
mod record;
mod scripts;
mod store;

pub use store::RedisStore;
