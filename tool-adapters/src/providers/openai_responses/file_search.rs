//! OpenAI's search in uploaded files.

use serde::Serialize;
use serde_json::Value;

/// Searches files that were uploaded to vector stores.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "type", rename = "file_search")]
pub struct FileSearch {
    /// The vector stores, at least one.
    pub vector_store_ids: Vec<String>,
    /// A condition on the attributes of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filters: Option<Filter>,
    /// The maximum number of results, 1 to 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_num_results: Option<u32>,
    /// The ranking of results.
    #[serde(rename = "ranking_options", skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
}

impl FileSearch {
    /// Makes a search of these vector stores.
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
        /// The comparison.
        #[serde(rename = "type")]
        how: Comparison,
        /// The attribute.
        key: String,
        /// The value: a text, a number or a boolean, or a list of texts and numbers for `In` and `Nin`.
        value: Value,
    },
    /// Several conditions.
    Combine {
        /// The combination.
        #[serde(rename = "type")]
        how: Combination,
        /// The conditions.
        filters: Vec<Self>,
    },
}

impl Filter {
    /// Compares an attribute with a value.
    pub fn compare(key: impl Into<String>, how: Comparison, value: impl Into<Value>) -> Self {
        Self::Compare { how, key: key.into(), value: value.into() }
    }

    /// Requires both conditions.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::Combine { how: Combination::And, filters: vec![self, other] }
    }

    /// Requires one of the conditions, or both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::Combine { how: Combination::Or, filters: vec![self, other] }
    }
}

/// A comparison of an attribute.
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

/// A combination of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Combination {
    /// All conditions hold.
    And,
    /// At least one condition holds.
    Or,
}

/// A ranking of results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ranking {
    /// The ranker. Defaults to `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranker: Option<String>,
    /// The lowest score of results, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_threshold: Option<f64>,
    /// The weights of meaning and words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hybrid_search: Option<HybridSearch>,
}

/// The weights of a search by meaning and by words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HybridSearch {
    /// The weight of meaning.
    pub embedding_weight: f64,
    /// The weight of words.
    pub text_weight: f64,
}
