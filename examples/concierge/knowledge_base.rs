//! The retrieval tools, which read only, in both modes.

use crate::articles::Article;
use crate::index::{ArticleIndex, Hit};
use schemars::JsonSchema;
use serde::Serialize;
use std::error::Error;
use tool_core::{ToolError, toolset};

pub(crate) struct KnowledgeBase {
    index: ArticleIndex,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Found {
    /// The matches, the best first; none where no article has any of the words
    results: Vec<Hit>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Text {
    id: String,
    title: String,
    /// Markdown
    body: String,
}

impl KnowledgeBase {
    pub(crate) fn new(articles: &[Article]) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            index: ArticleIndex::new(articles)?,
        })
    }
}

/// The hotel's articles for its guests.
#[toolset(name = "knowledge_base", title = "Knowledge base", discover = false)]
impl KnowledgeBase {
    /// Search the hotel's articles by their words.
    ///
    /// # Returns
    /// The matching articles with a snippet of each, the best first
    #[tool(
        category = "retrieval",
        modes("voice", "text"),
        guide = "concierge/guides/kb_search.md"
    )]
    pub(crate) fn kb_search(
        &self,
        /// Two to five words that the article would use
        #[arg(length(1..=200))]
        query: &str,
        /// Maximum number of articles
        #[arg(default = 5, range(1..=20))]
        limit: usize,
    ) -> Result<Found, tantivy::TantivyError> {
        Ok(Found {
            results: self.index.search(query, limit)?,
        })
    }

    /// Read one of the hotel's articles.
    ///
    /// # Returns
    /// The whole article
    #[tool(
        category = "retrieval",
        modes("voice", "text"),
        guide = "concierge/guides/kb_get.md"
    )]
    pub(crate) fn kb_get(
        &self,
        /// The id of a search result
        id: &str,
    ) -> Result<Text, ToolError> {
        let found = self
            .index
            .get(id)
            .map_err(|error| ToolError::internal(error.to_string()))?;
        let none = || {
            ToolError::permanent(format!(
                "there is no article `{id}`; take an id that kb_search gave"
            ))
        };
        let Article { id, title, body } = found.ok_or_else(none)?;
        Ok(Text { id, title, body })
    }
}
