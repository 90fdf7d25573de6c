//! Tests of grants: refreshing tokens, and storing them.

mod destinations;
mod failures;
mod follow;
mod grants;
mod refreshes;
mod resting;
mod saves;
mod support;
