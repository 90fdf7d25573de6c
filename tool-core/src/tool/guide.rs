//! Guides: instructions for the use of a tool, in markdown.

use crate::arguments::validate::validate;
use crate::json::value;
use crate::schema::validator::Validator;
use serde_json::Value;
use std::sync::Arc;

/// The guide of a tool: a heading, a summary of one or two sentences, and optional sections
/// Parameters, Examples and Watch Out.
///
/// Each code block marked `json` in Examples holds arguments. The manifest cannot be built where
/// the tool's schema refuses them. Cloning is cheap.
///
/// ````
/// use serde_json::json;
/// use tool_core::tool::Guide;
///
/// let guide = Guide::parse("\
/// ## Search the knowledge base
///
/// Finds articles by topic.
///
/// ## Examples
///
/// ```json
/// {\"query\": \"refund policy\"}
/// ```
/// ");
/// assert_eq!(guide.heading(), Some("Search the knowledge base"));
/// assert_eq!(guide.summary(), "Finds articles by topic.");
/// assert_eq!(guide.examples()[0].line(), 8);
///
/// let schema = json!({"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}});
/// assert!(guide.problems_against(&schema).is_empty());
/// ````
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guide(Arc<GuideParts>);

/// An example of arguments in a guide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuideExample {
    json: String,
    line: usize,
}

impl GuideExample {
    /// Returns the text of the code block.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Returns the line of the guide on which the text begins, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the problems of the arguments, each with its line.
    fn problems(&self, validator: &Validator) -> Vec<String> {
        let line = self.line;
        let parsed = match value::parse(&self.json) {
            Ok(parsed) => parsed,
            Err(error) => {
                let line = line + error.line.saturating_sub(1);
                return vec![format!(
                    "guide line {line}: the example is not JSON: {}",
                    error.message
                )];
            }
        };
        let duplicates = parsed
            .duplicates
            .iter()
            .map(|key| format!("duplicate key `{key}`"));
        let problems = validate(validator, &parsed.value);
        let problems = duplicates.chain(problems.iter().map(ToString::to_string));
        problems
            .map(|problem| format!("guide line {line}: example: {problem}"))
            .collect()
    }
}

impl Guide {
    /// Creates a guide. Any text is accepted; building the manifest reports its problems.
    pub fn parse(text: &str) -> Self {
        // Editors may add a byte order mark, and git may change the line ends.
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        Self(Arc::new(GuideParser::parse(text)))
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the first heading.
    pub fn heading(&self) -> Option<&str> {
        self.0.heading.as_deref()
    }

    /// Returns the first line that is neither blank nor a heading: one or two sentences. Empty
    /// where there is none.
    pub fn summary(&self) -> &str {
        &self.0.summary
    }

    /// Returns the text of the section Parameters.
    pub fn parameters(&self) -> Option<&str> {
        self.0.parameters.as_deref()
    }

    /// Returns the arguments in the section Examples, in order.
    pub fn examples(&self) -> &[GuideExample] {
        &self.0.examples
    }

    /// Returns the text of the section Watch Out.
    pub fn watch_out(&self) -> Option<&str> {
        self.0.watch_out.as_deref()
    }

    /// Checks the examples against the schema of a tool's parameters. Returns one line for each
    /// problem, with the line of the guide.
    pub fn problems_against(&self, schema: &Value) -> Vec<String> {
        let validator = Validator::for_tool(schema.clone());
        self.examples()
            .iter()
            .flat_map(|example| example.problems(&validator))
            .collect()
    }

    /// Returns every problem of the guide of a tool with these parameters.
    pub(crate) fn problems(&self, schema: &Value) -> Vec<String> {
        if self.text().trim().is_empty() {
            return vec!["the guide is empty".to_owned()];
        }
        let mut problems = self.problems_against(schema);
        if self.summary().is_empty() {
            problems.insert(
                0,
                "the guide has no summary; describe the tool's purpose in a sentence".to_owned(),
            );
        }
        problems
    }
}

/// The text of a guide, and its parts.
#[derive(Debug, Default, PartialEq, Eq)]
struct GuideParts {
    text: String,
    heading: Option<String>,
    summary: String,
    parameters: Option<String>,
    watch_out: Option<String>,
    examples: Vec<GuideExample>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Parameters,
    Examples,
    WatchOut,
}

/// An open code block.
struct CodeBlock {
    mark: char,
    length: usize,
    /// The example that the block holds.
    example: Option<GuideExample>,
}

/// A parser that reads a guide line by line. It knows headings and code blocks; a guide needs no
/// more of markdown.
#[derive(Default)]
struct GuideParser {
    parts: GuideParts,
    /// The current section, and the level of its heading.
    section: Option<(Section, usize)>,
    block: Option<CodeBlock>,
}

impl GuideParser {
    fn parse(text: String) -> GuideParts {
        let mut parser = Self::default();
        for (at, line) in text.lines().enumerate() {
            parser.line(line, at + 1);
        }
        // An unclosed block ends with the text.
        parser.close_block();
        let mut parts = GuideParts {
            text,
            ..parser.parts
        };
        for section in [&mut parts.parameters, &mut parts.watch_out]
            .into_iter()
            .flatten()
        {
            *section = section.trim().to_owned();
        }
        parts
    }

    fn line(&mut self, line: &str, number: usize) {
        if self.block.is_some() {
            self.line_in_block(line);
        } else if let Some((mark, length, info)) = fence(line) {
            let is_json = info
                .split_whitespace()
                .next()
                .is_some_and(|language| language.eq_ignore_ascii_case("json"));
            let is_example = is_json
                && self
                    .section
                    .is_some_and(|(section, _)| section == Section::Examples);
            let example = is_example.then(|| GuideExample {
                json: String::new(),
                line: number + 1,
            });
            self.block = Some(CodeBlock {
                mark,
                length,
                example,
            });
        } else if let Some((level, title)) = heading(line) {
            self.heading(line, level, title);
            return;
        } else if self.parts.summary.is_empty() {
            line.trim().clone_into(&mut self.parts.summary);
        }
        self.add_to_section(line);
    }

    fn heading(&mut self, line: &str, level: usize, title: &str) {
        if self.parts.heading.is_none() && !title.is_empty() {
            self.parts.heading = Some(title.to_owned());
        }
        if let Some(section) = section(title) {
            self.section = Some((section, level));
        } else if self.section.is_some_and(|(_, above)| level <= above) {
            self.section = None;
        } else {
            // A heading below the section's own is part of the section.
            self.add_to_section(line);
        }
    }

    fn add_to_section(&mut self, line: &str) {
        let text = match self.section {
            Some((Section::Parameters, _)) => &mut self.parts.parameters,
            Some((Section::WatchOut, _)) => &mut self.parts.watch_out,
            _ => return,
        };
        push_line(text.get_or_insert_default(), line);
    }

    fn line_in_block(&mut self, line: &str) {
        let Some(block) = &mut self.block else { return };
        if fence(line).is_some_and(|(mark, length, info)| {
            mark == block.mark && length >= block.length && info.is_empty()
        }) {
            self.close_block();
        } else if let Some(example) = &mut block.example {
            push_line(&mut example.json, line);
        }
    }

    fn close_block(&mut self) {
        self.parts
            .examples
            .extend(self.block.take().and_then(|block| block.example));
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Returns the level and the text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start();
    let title = text.trim_start_matches('#');
    let level = text.len() - title.len();
    let is_heading =
        (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']));
    is_heading.then(|| (level, title.trim().trim_end_matches('#').trim_end()))
}

fn section(title: &str) -> Option<Section> {
    match title.trim_end_matches(':').to_lowercase().as_str() {
        "parameters" => Some(Section::Parameters),
        "examples" | "example" => Some(Section::Examples),
        "watch out" => Some(Section::WatchOut),
        _ => None,
    }
}

/// Returns the mark of a code block's first or last line, the number of marks, and the text that
/// follows them.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim();
    let mark = text
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    // Inline code may begin with as many marks, but then it ends with them on the same line.
    (length >= 3 && !(mark == '`' && info.contains('`'))).then(|| (mark, length, info.trim()))
}
