//! The Redis store against a server: `REDIS_URL=redis://127.0.0.1:6379 cargo test -p tool-adapters --features redis`.
//! Clusters, sentinels and servers with TLS are started by the tests.

#[path = "../../../tests/support/certificates.rs"]
mod certificates;
mod cluster;
mod conformance;
mod earlier;
mod failover;
mod faults;
mod histories;
mod journal;
#[path = "../../../tests/support/own_server.rs"]
mod own_server;
mod processes;
mod relay;
mod resharding;
mod runtime;
mod secure;
mod server;
#[path = "../../../tests/support/redis.rs"]
mod shared_server;
mod trips;
