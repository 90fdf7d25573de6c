//! OpenAI's search in uploaded files.

use serde::Serialize;
use serde_json::Value;

/// Searches files that were uploaded to vector stores.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "type", rename = "file_search")]
pub struct FileSearch {
    /// The vector stores; at least one.
    pub vector_store_ids: Vec<String>,
    /// Only files whose attributes satisfy this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filters: Option<Filter>,
    /// 1 to 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_num_results: Option<u32>,
    /// How results are ranked.
    #[serde(rename = "ranking_options", skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
}

impl FileSearch {
    /// A search of these vector stores.
    pub fn new<T: Into<String>>(vector_store_ids: impl IntoIterator<Item = T>) -> Self {
        Self { vector_store_ids: vector_store_ids.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// A condition on the attributes of a file.
///
/// ```
/// use serde_json::json;
/// use tool_adapters::providers::openai_responses::tools::{Comparison, Filter};
///
/// let recent = Filter::compare("year", Comparison::Gte, 2025).and(Filter::compare("region", Comparison::Eq, "eu"));
/// let expected = json!({"type": "and", "filters": [
///     {"type": "gte", "key": "year", "value": 2025}, {"type": "eq", "key": "region", "value": "eu"},
/// ]});
/// assert_eq!(serde_json::to_value(recent)?, expected);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Filter {
    /// An attribute compared with a value.
    Compare {
        /// How.
        #[serde(rename = "type")]
        how: Comparison,
        /// The attribute.
        key: String,
        /// A text, a number, a bool; a list of texts and numbers for `In` and `Nin`.
        value: Value,
    },
    /// Several conditions.
    Combine {
        /// Whether all have to hold, or one.
        #[serde(rename = "type")]
        how: Combination,
        /// The conditions.
        filters: Vec<Self>,
    },
}

impl Filter {
    /// An attribute compared with a value.
    pub fn compare(key: impl Into<String>, how: Comparison, value: impl Into<Value>) -> Self {
        Self::Compare { how, key: key.into(), value: value.into() }
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::Combine { how: Combination::And, filters: vec![self, other] }
    }

    /// One of them or both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::Combine { how: Combination::Or, filters: vec![self, other] }
    }
}

/// How an attribute is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
    /// One of a list.
    In,
    /// None of a list.
    Nin,
}

/// How conditions are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Combination {
    /// All have to hold.
    And,
    /// One has to hold.
    Or,
}

/// How results are ranked.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ranking {
    /// Such as `auto`, which it is unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranker: Option<String>,
    /// 0 to 1: only results that score at least this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_threshold: Option<f64>,
    /// How meaning and words are weighed against each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hybrid_search: Option<HybridSearch>,
}

/// The weights of a search by meaning and by words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HybridSearch {
    /// That of meaning.
    pub embedding_weight: f64,
    /// That of words.
    pub text_weight: f64,
}
