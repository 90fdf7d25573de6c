//! A search over tools by words, for agents with more tools than a model should read.

use crate::tool::ToolDefinition;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};
use std::sync::Arc;

/// An index of tools by the words of their names, descriptions and parameters. It ranks by BM25.
///
/// ```
/// use tool_core::describe::ToolIndex;
/// use tool_core::{ToolContext, tool};
///
/// /// Send a letter to a person.
/// #[tool]
/// fn send_letter(address: String) -> String {
///     address
/// }
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let tools = ToolContext::builder().with(send_letter).with(add).build()?;
/// let index = ToolIndex::new(tools.definitions());
/// assert_eq!(index.search("sending letters", 5), ["send_letter"]);
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ToolIndex {
    /// The names of the tools.
    names: Vec<Arc<str>>,
    /// The weights of all words of each tool.
    lengths: Vec<f64>,
    /// The tools of each word, with the word's weight in them.
    words: FxHashMap<String, Vec<(usize, f64)>>,
}

/// The weights of words by the place where they are.
const NAME: f64 = 3.0;
const DESCRIPTION: f64 = 1.0;
const PARAMETER: f64 = 1.0;
const DETAIL: f64 = 0.5;

/// The constants of BM25: how much a repeated word counts, and how much a long text is held against
/// a tool.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// The maximum depth of parameters that are read.
const MAX_DEPTH: usize = 3;
/// The maximum number of words of a query. Models write a few.
const MAX_QUERY: usize = 64;

impl ToolIndex {
    /// Indexes tools. The order decides between equal matches.
    pub fn new<'a>(tools: impl IntoIterator<Item = &'a ToolDefinition>) -> Self {
        let mut index = Self::default();
        for tool in tools {
            let mut weights = FxHashMap::default();
            add(&mut weights, tool.name(), NAME);
            add(&mut weights, tool.title().unwrap_or_default(), DESCRIPTION);
            add(&mut weights, tool.description(), DESCRIPTION);
            add_parameters(&mut weights, tool.parameters(), MAX_DEPTH);
            let at = index.names.len();
            index.names.push(tool.name().into());
            index.lengths.push(weights.values().sum());
            for (word, weight) in weights {
                index.words.entry(word).or_default().push((at, weight));
            }
        }
        index
    }

    /// Returns the names of the tools that match a query best, the best first. Tools without a word
    /// of the query are left out.
    pub fn search(&self, query: &str, limit: usize) -> Vec<&str> {
        #[allow(clippy::cast_precision_loss, reason = "numbers of tools are small")]
        let number = |count: usize| count as f64;
        let count = number(self.names.len());
        let mean = self.lengths.iter().sum::<f64>() / count.max(1.0);
        let mut scores = FxHashMap::<usize, f64>::default();
        let mut seen = FxHashSet::default();
        for word in words(query)
            .into_iter()
            .filter(|word| seen.insert(word.clone()))
            .take(MAX_QUERY)
        {
            let Some(found) = self.words.get(&word) else {
                continue;
            };
            let rarity =
                (1.0 + (count - number(found.len()) + 0.5) / (number(found.len()) + 0.5)).ln();
            for (at, weight) in found {
                let length = self.lengths.get(*at).map_or(1.0, |length| length / mean);
                let damping = SATURATION * (1.0 - LENGTH + LENGTH * length);
                *scores.entry(*at).or_default() +=
                    rarity * weight * (SATURATION + 1.0) / (weight + damping);
            }
        }
        let mut ranked = scores.into_iter().collect::<Vec<_>>();
        ranked.sort_by(|(first, a), (second, b)| b.total_cmp(a).then(first.cmp(second)));
        ranked
            .iter()
            .take(limit)
            .filter_map(|(at, _)| self.names.get(*at).map(|name| &**name))
            .collect()
    }
}

/// Adds the words of a text.
fn add(weights: &mut FxHashMap<String, f64>, text: &str, weight: f64) {
    for word in words(text) {
        *weights.entry(word).or_default() += weight;
    }
}

/// Adds the names of parameters, and their descriptions and choices.
fn add_parameters(weights: &mut FxHashMap<String, f64>, schema: &Value, depth: usize) {
    let Some(next) = depth.checked_sub(1) else {
        return;
    };
    let named = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter);
    for (name, parameter) in named {
        add(weights, name, PARAMETER);
        add(
            weights,
            parameter
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default(),
            DETAIL,
        );
        let choices = parameter
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        choices.for_each(|choice| add(weights, choice, DETAIL));
        add_parameters(weights, parameter, next);
        parameter
            .get("items")
            .into_iter()
            .for_each(|items| add_parameters(weights, items, next));
    }
}

/// Returns the words of a text in lower case and without endings. A name in camel case is several
/// words. Scripts without spaces give each pair of letters that stand beside each other.
fn words(text: &str) -> Vec<String> {
    const FREQUENT: [&str; 24] = [
        "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "into", "is", "it",
        "its", "of", "on", "or", "that", "the", "this", "to", "with", "you",
    ];
    let spaced = spaced(text);
    let parts = spaced
        .split(|letter: char| !letter.is_alphanumeric() && !is_unspaced(letter))
        .filter(|word| !word.is_empty() && !FREQUENT.contains(word));

    let mut words = Vec::new();
    for part in parts {
        if part.starts_with(is_unspaced) {
            words.extend(pairs(part));
        } else {
            words.push(stem(part).to_owned());
        }
    }
    words
}

/// Returns the text in lower case, with a space before each word that begins within a name, and
/// where a script without spaces begins or ends.
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let after_lower = before.is_lowercase() || before.is_numeric();
        // The `P` of `HTMLPage`.
        let ends_capitals =
            before.is_uppercase() && letters.peek().is_some_and(|next| next.is_lowercase());
        let begins_word = letter.is_uppercase() && (after_lower || ends_capitals);
        if begins_word || is_unspaced(letter) != is_unspaced(before) {
            spaced.push(' ');
        }
        spaced.extend(letter.to_lowercase());
        before = letter;
    }
    spaced
}

/// Returns true for a letter of Chinese, Japanese, Thai, Lao, Burmese or Khmer, whose words have no
/// spaces between them.
fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' | '\u{e81}'..='\u{ece}' | '\u{1000}'..='\u{103f}'
        | '\u{1780}'..='\u{17d3}' | '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{323af}')
}

/// Returns each two letters that stand beside each other, or the only one.
fn pairs(text: &str) -> Vec<String> {
    let letters = text.chars().collect::<Vec<_>>();
    let pairs = letters.windows(2.min(letters.len()));
    pairs.map(|pair| pair.iter().collect()).collect()
}

/// Removes English endings, so that `events` and `event` are one word. At least three letters stay.
fn stem(word: &str) -> &str {
    fn cut<'w>(word: &'w str, endings: &[&str]) -> &'w str {
        let rest = endings
            .iter()
            .find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.len() >= 3));
        rest.unwrap_or(word)
    }
    let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    // `cities` is `cit`, as `city` is, and `boxes` is `box`.
    let singular = match word {
        _ if word.ends_with("ss") => word,
        _ if ends(&["ses", "xes", "zes", "hes"]) => cut(word, &["es"]),
        _ => cut(word, &["ies", "s"]),
    };
    // `create` is `creat`, as `creating` is.
    cut(cut(singular, &["ing", "ed"]), &["y", "e"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FunctionTool, RawTool, RunContext, ToolError};
    use serde_json::json;

    async fn nothing(_: Value, _: &RunContext) -> Result<Value, ToolError> {
        Ok(Value::Null)
    }

    fn tool(name: &str, description: &str, properties: &Value) -> FunctionTool {
        let parameters = json!({"type": "object", "properties": properties});
        FunctionTool::raw(
            RawTool {
                name: name.into(),
                description: description.into(),
                parameters,
            },
            nothing,
        )
    }

    fn index(tools: &[FunctionTool]) -> ToolIndex {
        ToolIndex::new(tools.iter().map(FunctionTool::definition))
    }

    #[test]
    fn finds_by_name_description_and_parameters() {
        let tools = [
            tool(
                "createEvent",
                "Book a meeting.",
                &json!({"attendees": {"type": "array"}}),
            ),
            tool(
                "get_weather",
                "The forecast.",
                &json!({"unit": {"enum": ["celsius", "kelvin"]}}),
            ),
            tool(
                "files.read",
                "Read a file.",
                &json!({"path": {"description": "Where it lies on the disk"}}),
            ),
        ];
        let index = index(&tools);
        for (query, name) in [
            ("events", "createEvent"),
            ("MEETINGS", "createEvent"),
            ("attendee", "createEvent"),
            ("kelvin", "get_weather"),
            ("disks", "files.read"),
            ("reading files", "files.read"),
        ] {
            assert_eq!(index.search(query, 5), [name], "{query}");
        }
        assert!(index.search("the of", 5).is_empty() && index.search("", 5).is_empty());
    }

    #[test]
    fn words_are_found_in_scripts_without_spaces() {
        let tools = [
            tool("book", "预订一个会议", &json!({})),
            tool("weather", "天気予報をAPIで取得する", &json!({})),
            tool("mail", "ส่งอีเมลถึงลูกค้า", &json!({})),
        ];
        let index = index(&tools);
        for (query, name) in [
            ("预订会议", "book"),
            ("天気", "weather"),
            ("api", "weather"),
            ("อีเมล", "mail"),
        ] {
            assert_eq!(index.search(query, 1), [name], "{query}");
        }
    }

    #[test]
    fn capitals_within_a_name_are_a_word() {
        let found = [tool("parseHTMLPage", "", &json!({}))];
        let index = index(&found);
        for query in ["html", "pages", "parse"] {
            assert_eq!(index.search(query, 1), ["parseHTMLPage"], "{query}");
        }
    }

    #[test]
    fn a_name_counts_more_and_equal_matches_keep_their_order() {
        let tools = [
            tool("first", "Send it by mail.", &json!({})),
            tool("send_mail", "It goes out at once.", &json!({})),
            tool("second", "Send it by mail.", &json!({})),
        ];
        assert_eq!(
            index(&tools).search("mail", 5),
            ["send_mail", "first", "second"]
        );
        assert_eq!(index(&tools).search("mail", 1), ["send_mail"]);
    }

    #[test]
    fn a_long_query_is_cut() {
        let many = (0..10_000)
            .map(|at| format!("w{at}"))
            .collect::<Vec<_>>()
            .join(" ");
        let tools = [tool("w1", "", &json!({})), tool("w9999", "", &json!({}))];
        assert_eq!(index(&tools).search(&many, 5), ["w1"]);
    }
}
