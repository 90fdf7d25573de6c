//! Tests of grants: refreshing tokens, and storing them.

mod destinations;
mod failures;
mod grants;
mod refreshes;
mod resting;
mod saves;
mod support;
