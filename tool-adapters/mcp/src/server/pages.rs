//! Pages of lists, and the caching hints that they carry.

use rmcp::ErrorData;
use rmcp::model::CacheScope;

/// The number of entries on one page. It is large, as many clients read only the first page.
const PAGE_SIZE: usize = 1_000;

/// The time for which a client may cache a list or a resource.
const TTL_MS: u64 = 60_000;

/// One page of a list.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// Cuts the page out of the list. The cursor is the index of its first entry.
    pub(crate) fn of(mut all: Vec<T>, cursor: Option<&str>) -> Result<Self, ErrorData> {
        let from = match cursor {
            None => 0,
            Some(text) => text.parse::<usize>().map_err(|_| unknown_cursor())?,
        };
        if from > all.len() || (cursor.is_some() && from == all.len()) {
            return Err(unknown_cursor());
        }
        all.drain(..from);
        let has_more = all.len() > PAGE_SIZE;
        all.truncate(PAGE_SIZE);
        Ok(Self {
            items: all,
            next_cursor: has_more.then(|| (from + PAGE_SIZE).to_string()),
        })
    }
}

fn unknown_cursor() -> ErrorData {
    ErrorData::invalid_params("unknown `cursor`; request the list without one", None)
}

/// Returns the caching hints of a result. `wanted` is true for clients whose revision has them. Sessions differ in what they
/// see, so no cache may be shared.
pub(crate) fn cache_hints(wanted: bool) -> (Option<u64>, Option<CacheScope>) {
    (
        wanted.then_some(TTL_MS),
        wanted.then_some(CacheScope::Private),
    )
}
