//! Guides: how a tool is used well, in markdown.

mod check;
mod parse;

#[cfg(test)]
mod tests;

use crate::text::first_sentence;
use crate::tool::ToolDefinition;
use parse::Parsed;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The guide of a tool: a heading, a summary of one or two sentences, and, where they help, the sections Parameters,
/// Examples and Watch Out.
///
/// Each fence marked `json` in Examples holds arguments; the manifest is not built where the tool's schema refuses
/// them. Cheap to clone. The text is read when something of it is first asked for.
///
/// ````
/// use serde_json::json;
/// use tool_core::Guide;
///
/// let guide = Guide::parse("\
/// ## Search the knowledge base
///
/// Finds articles by what they are about.
///
/// ## Examples
///
/// ```json
/// {\"query\": \"refund policy\"}
/// ```
/// ");
/// assert_eq!(guide.heading(), Some("Search the knowledge base"));
/// assert_eq!(guide.summary(), "Finds articles by what they are about.");
/// assert_eq!(guide.examples()[0].line(), 8);
///
/// let schema = json!({"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}});
/// assert!(guide.problems_against(&schema).is_empty());
/// ````
#[derive(Clone)]
pub struct Guide(Arc<Inner>);

struct Inner {
    text: String,
    parsed: OnceLock<Parsed>,
}

/// Arguments that a guide shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuideExample {
    json: String,
    line: usize,
}

impl GuideExample {
    /// The text between the fences.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The line of the guide on which it begins, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }
}

impl Guide {
    /// A guide of this text. Any text is one; what is wrong with it, the manifest tells.
    pub fn parse(text: &str) -> Self {
        // The same text, however it was checked out.
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        Self(Arc::new(Inner { text, parsed: OnceLock::new() }))
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The first heading.
    pub fn heading(&self) -> Option<&str> {
        self.parsed().heading.as_deref()
    }

    /// One or two sentences: the first line that is neither blank nor a heading. Empty where there is none.
    pub fn summary(&self) -> &str {
        &self.parsed().summary
    }

    /// What the section Parameters says.
    pub fn parameters(&self) -> Option<&str> {
        self.parsed().parameters.as_deref()
    }

    /// The arguments that the section Examples shows, in order.
    pub fn examples(&self) -> &[GuideExample] {
        &self.parsed().examples
    }

    /// What the section Watch Out says.
    pub fn watch_out(&self) -> Option<&str> {
        self.parsed().watch_out.as_deref()
    }

    /// What is wrong with the examples, as calls of a tool with these parameters: one line for each problem, with the
    /// line of the guide.
    pub fn problems_against(&self, schema: &Value) -> Vec<String> {
        check::examples(self.examples(), schema)
    }

    fn parsed(&self) -> &Parsed {
        self.0.parsed.get_or_init(|| parse::parse(&self.0.text))
    }
}

impl ToolDefinition {
    /// What the tool is for, in a sentence or two: the guide's summary, or the first sentence of the description.
    ///
    /// ```
    /// use tool_core::{ToolContext, tool};
    ///
    /// /// Add two numbers. Overflow wraps.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a.wrapping_add(b)
    /// }
    ///
    /// let tools = ToolContext::builder().with(add).build()?;
    /// assert_eq!(tools.definitions().next().unwrap().summary(), "Add two numbers.");
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    pub fn summary(&self) -> Cow<'_, str> {
        match self.guide().map(Guide::summary) {
            Some(summary) if !summary.is_empty() => summary.into(),
            _ => first_sentence(self.description()).into(),
        }
    }

    /// All there is to read about the tool: the guide, or the description where there is none.
    pub fn documentation(&self) -> &str {
        self.guide().map_or_else(|| self.description(), Guide::text)
    }
}

impl PartialEq for Guide {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Guide {}

impl fmt::Debug for Guide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guide").field(&self.text()).finish()
    }
}
