//! Opening and closing several toolsets at the same time.

use super::Toolset;
use crate::response::ToolError;
use std::sync::Arc;
use tokio::task::JoinSet;

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
        let (id, result) =
            ended.unwrap_or_else(|error| (error.id(), Err(ToolError::internal(format!("it panicked: {error}")))));
        if let Some((_, slot)) = ids.iter().zip(&mut results).find(|(known, _)| **known == id) {
            *slot = result;
        }
    }
    results
}
