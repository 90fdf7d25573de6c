//! Tests of grants: refreshing tokens, and storing them.

mod failures;
mod grants;
mod refreshes;
mod saves;
mod support;
