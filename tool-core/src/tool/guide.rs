//! Guides: how a tool is used well, in markdown.

use crate::arguments::validate::validate;
use crate::json::value;
use crate::schema::validator::Validator;
use serde_json::Value;
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
/// use tool_core::tool::Guide;
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
        examples(self.examples(), schema)
    }

    fn parsed(&self) -> &Parsed {
        self.0.parsed.get_or_init(|| parse(&self.0.text))
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

// ---- Reads a guide line by line. Markdown has more to it; a guide needs headings and fences.

/// What a guide says, by its parts.
#[derive(Default)]
pub(crate) struct Parsed {
    pub(crate) heading: Option<String>,
    pub(crate) summary: String,
    pub(crate) parameters: Option<String>,
    pub(crate) watch_out: Option<String>,
    pub(crate) examples: Vec<GuideExample>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Parameters,
    Examples,
    WatchOut,
}

/// A code block that is open.
struct Fence {
    mark: char,
    length: usize,
    /// Where an example's lines go.
    example: Option<GuideExample>,
}

#[derive(Default)]
struct Reader {
    parsed: Parsed,
    /// The section being read, and how deep its heading is.
    section: Option<(Section, usize)>,
    fence: Option<Fence>,
}

pub(crate) fn parse(text: &str) -> Parsed {
    let mut reader = Reader::default();
    // Some editors put a byte order mark first.
    for (at, line) in text.trim_start_matches('\u{FEFF}').lines().enumerate() {
        reader.line(line, at + 1);
    }
    // A block that nobody closed ends with the text.
    reader.close();
    let Parsed { parameters, watch_out, .. } = &mut reader.parsed;
    for section in [parameters, watch_out].into_iter().flatten() {
        *section = section.trim().to_owned();
    }
    reader.parsed
}

impl Reader {
    fn line(&mut self, line: &str, number: usize) {
        if self.fence.is_some() {
            self.fenced(line);
        } else if let Some(fence) = self.opened(line, number) {
            self.fence = Some(fence);
        } else if let Some((level, title)) = heading(line) {
            self.heading(line, level, title);
            return;
        } else if self.parsed.summary.is_empty() {
            line.trim().clone_into(&mut self.parsed.summary);
        }
        self.keep(line);
    }

    fn heading(&mut self, line: &str, level: usize, title: &str) {
        if self.parsed.heading.is_none() && !title.is_empty() {
            self.parsed.heading = Some(title.to_owned());
        }
        if let Some(section) = section(title) {
            self.section = Some((section, level));
        } else if self.section.is_some_and(|(_, above)| level <= above) {
            self.section = None;
        } else {
            // A heading below the section's own is part of it.
            self.keep(line);
        }
    }

    /// Adds a line to the section that it stands in.
    fn keep(&mut self, line: &str) {
        let kept = match self.section {
            Some((Section::Parameters, _)) => &mut self.parsed.parameters,
            Some((Section::WatchOut, _)) => &mut self.parsed.watch_out,
            _ => return,
        };
        let kept = kept.get_or_insert_default();
        kept.push_str(line);
        kept.push('\n');
    }

    /// The code block that the line opens.
    fn opened(&self, line: &str, number: usize) -> Option<Fence> {
        let (mark, length, info) = fence(line)?;
        let language = info.split_whitespace().next().unwrap_or_default();
        let wanted = self.section.is_some_and(|(section, _)| section == Section::Examples);
        let example = wanted && language.eq_ignore_ascii_case("json");
        let example = example.then(|| GuideExample { json: String::new(), line: number + 1 });
        Some(Fence { mark, length, example })
    }

    fn fenced(&mut self, line: &str) {
        let Some(open) = &mut self.fence else { return };
        match fence(line) {
            Some((mark, length, "")) if mark == open.mark && length >= open.length => self.close(),
            _ => {
                if let Some(example) = &mut open.example {
                    example.json.push_str(line);
                    example.json.push('\n');
                }
            }
        }
    }

    fn close(&mut self) {
        self.parsed.examples.extend(self.fence.take().and_then(|fence| fence.example));
    }
}

/// The level and the text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start();
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let title = text.get(level..)?;
    let sound = (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']));
    sound.then(|| (level, title.trim().trim_end_matches('#').trim_end()))
}

fn section(title: &str) -> Option<Section> {
    let title = title.trim_end_matches(':').to_lowercase();
    match title.as_str() {
        "parameters" => Some(Section::Parameters),
        "examples" | "example" => Some(Section::Examples),
        "watch out" => Some(Section::WatchOut),
        _ => None,
    }
}

/// The mark of a fence, how often it stands there, and what follows it.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim();
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    // Code inside a line may begin with as many marks, and then ends with them on the same line.
    (length >= 3 && !(mark == '`' && info.contains('`'))).then(|| (mark, length, info.trim()))
}

// ---- Whether what a guide shows works.

impl Guide {
    /// Everything that is wrong with the guide of a tool with these parameters. R-F3
    pub(crate) fn problems(&self, schema: &Value) -> Vec<String> {
        if self.text().trim().is_empty() {
            return vec!["its guide is empty".to_owned()];
        }
        let silent = self.summary().is_empty();
        let silent = silent.then(|| "its guide has no summary; say in a sentence what the tool is for".to_owned());
        silent.into_iter().chain(self.problems_against(schema)).collect()
    }
}

pub(crate) fn examples(examples: &[GuideExample], schema: &Value) -> Vec<String> {
    let validator = Validator::for_tool(schema.clone());
    examples.iter().flat_map(|example| problems(example, &validator)).collect()
}

fn problems(example: &GuideExample, validator: &Validator) -> Vec<String> {
    let line = example.line;
    let parsed = match value::parse(&example.json) {
        Ok(parsed) => parsed,
        Err(error) => {
            let line = line + error.line.saturating_sub(1);
            return vec![format!("guide line {line}: the example is not JSON: {}", error.message)];
        }
    };
    let twice = parsed.duplicates.iter().map(|key| format!("guide line {line}: example: `{key}` stands twice"));
    let refused = validate(validator, &parsed.value);
    let refused = refused.iter().map(|problem| format!("guide line {line}: example: {problem}"));
    twice.chain(refused).collect()
}
