//! Pages of lists, and the caching hints that they carry.

use crate::server::passed_on;
use crate::server::session::{ServerContext, is_stateless};
use rmcp::ErrorData;
use rmcp::model::{CacheScope, MetaObject, PaginatedRequestParams};

/// The number of entries on one page. It is large, as many clients read only the first page.
const PAGE_SIZE: usize = 1_000;

/// The time for which a client may cache a list or a resource.
const TTL_MS: u64 = 60_000;

/// The part of a list that a client asks for.
#[derive(Default)]
pub(crate) struct PageRequest {
    pub(crate) cursor: Option<String>,
    /// True for clients whose revision has caching hints.
    pub(crate) with_hints: bool,
}

impl PageRequest {
    pub(crate) fn of(params: Option<PaginatedRequestParams>, context: &ServerContext) -> Self {
        Self {
            cursor: params.and_then(|params| params.cursor),
            with_hints: is_stateless(context),
        }
    }
}

/// One page of a list.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next_cursor: Option<String>,
    pub(crate) hints: CacheHints,
}

impl<T> Page<T> {
    /// Cuts the page out of the list. The cursor is the index of its first entry.
    pub(crate) fn of(mut all: Vec<T>, request: &PageRequest) -> Result<Self, ErrorData> {
        let from = match &request.cursor {
            None => 0,
            Some(text) => text.parse::<usize>().map_err(|_| unknown_cursor())?,
        };
        if from > all.len() || (request.cursor.is_some() && from == all.len()) {
            return Err(unknown_cursor());
        }
        all.drain(..from);
        let has_more = all.len() > PAGE_SIZE;
        all.truncate(PAGE_SIZE);
        Ok(Self {
            items: all,
            next_cursor: has_more.then(|| (from + PAGE_SIZE).to_string()),
            hints: CacheHints::new(request.with_hints),
        })
    }
}

impl Page<String> {
    /// Returns the metadata that carries the entries, which are JSON, as a member of the result.
    pub(crate) fn carried_as(&self, member: &str) -> MetaObject {
        passed_on::carrying(passed_on::list(member, &self.items))
    }
}

fn unknown_cursor() -> ErrorData {
    ErrorData::invalid_params("unknown `cursor`; request the list without one", None)
}

/// The caching hints of a result. Sessions differ in what they see, so no cache may be shared.
pub(crate) struct CacheHints {
    pub(crate) ttl_ms: Option<u64>,
    pub(crate) scope: Option<CacheScope>,
}

impl CacheHints {
    /// Returns no hints for clients whose revision does not have them.
    pub(crate) fn new(are_wanted: bool) -> Self {
        Self {
            ttl_ms: are_wanted.then_some(TTL_MS),
            scope: are_wanted.then_some(CacheScope::Private),
        }
    }
}
