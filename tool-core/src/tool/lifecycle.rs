//! Opening and closing several toolsets at the same time.

use super::Toolset;
use crate::response::ToolError;
use crate::text;
use std::sync::Arc;
use tokio::task::{JoinError, JoinSet};

/// Does the work on all of them, whatever some say. The results stand in the order of the toolsets; a panic is one.
pub(crate) async fn each<F>(
    toolsets: &[Arc<dyn Toolset>],
    work: impl Fn(Arc<dyn Toolset>) -> F,
) -> Vec<Result<(), ToolError>>
where
    F: Future<Output = Result<(), ToolError>> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    let ids = toolsets.iter().map(|toolset| tasks.spawn(work(Arc::clone(toolset))).id()).collect::<Vec<_>>();
    let mut results = vec![Ok(()); ids.len()];
    while let Some(ended) = tasks.join_next_with_id().await {
        let (id, result) = ended.unwrap_or_else(|error| (error.id(), Err(ToolError::internal(why_it_ended(error)))));
        if let Some((_, slot)) = ids.iter().zip(&mut results).find(|(known, _)| **known == id) {
            *slot = result;
        }
    }
    results
}

/// What a task says that did not come to its end: the text of its panic as it is, without the quotes and escapes in
/// which whoever takes secrets out of it would not know them.
pub(crate) fn why_it_ended(error: JoinError) -> String {
    match error.try_into_panic() {
        Err(cancelled) => format!("it did not end: {cancelled}"),
        Ok(panic) => format!("it panicked: {}", text::of_panic(panic)),
    }
}
