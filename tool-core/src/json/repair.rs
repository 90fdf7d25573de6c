//! The repair of a text that is nearly JSON, for runtimes that opt in.
//!
//! The reader accepts one object in a defined superset of JSON, and writes it as JSON. The superset
//! is what models write in place of JSON and can only mean one thing:
//!
//! - strings in `'`, `“”` or `‘’`, and `\'` in a string
//! - line feeds, carriage returns and tabs in a string
//! - names as keys, for example `{limit: 5}`
//! - comments: `//`, `#` and `/* */`
//! - one comma too many before a closing bracket
//! - a missing comma between two members: before a key in quotes, after a space or, where a string
//!   is before it, a line end
//! - `True`, `False` and `None`
//! - white space of any kind
//! - one object with a text around it, for example a code fence, and closing brackets after its end
//!
//! All else is refused: a text that ends early, strings with quotation marks that are not escaped,
//! escapes that JSON has not, `NaN`, `Infinity`, numbers in another form, words as values, `=` for
//! `:`, two commas, two objects. The crates for this (`llm_json`, ports of `json_repair`) complete
//! a text that was cut and guess values, and those for a superset (`json5`, `jsonc-parser`) have no
//! literals of Python and no line feeds in strings, and accept what is refused here.
//!
//! JSON in the superset means what it means as JSON, so the beginning of a JSON text is not
//! repaired: its object is still open. Numbers are copied, and strings but for their quotation
//! marks and escapes. The strict parser reads the result.

use crate::json::nested::MAX_DEPTH;
use crate::json::string::push_escaped;

/// A text that has become JSON.
#[derive(Debug, PartialEq)]
pub(crate) struct RepairedJson {
    /// The object.
    pub(crate) text: String,
    /// The changes, each once, in the order of the text.
    pub(crate) changes: Vec<&'static str>,
}

const QUOTES: &str = "other quotation marks";
const ESCAPE: &str = "an escape that JSON has not";
const LINE_END: &str = "a line end or tab in a string";
const NAME: &str = "a key without quotes";
const COMMENT: &str = "a comment";
const TRAILING_COMMA: &str = "a comma before a closing bracket";
const MISSING_COMMA: &str = "a missing comma";
const PYTHON: &str = "a literal of Python";
const SPACE: &str = "white space that JSON has not";
const AROUND: &str = "text around the object";
const BRACKET: &str = "a closing bracket too many";

/// Returns the one object in a text as JSON, or `None` if the text is not in the superset.
///
/// The result has the syntax of an object; numbers and escapes are left to the strict parser.
pub(crate) fn repair(text: &str) -> Option<RepairedJson> {
    let start = text.find('{')?;
    let (before, object) = text.split_at(start);
    let mut reader = LenientReader {
        rest: object,
        json: String::with_capacity(text.len()),
        changes: Vec::new(),
        depth: 0,
    };
    reader.object()?;

    let after = reader.after_brackets();
    if !is_around_object(before.trim(), after.trim()) {
        return None;
    }
    if !before.trim().is_empty() || !after.trim().is_empty() {
        reader.note(AROUND);
    }
    Some(RepairedJson {
        text: reader.json,
        changes: reader.changes,
    })
}

/// Returns true if two texts around an object are prose, and hold no part of a value.
fn is_around_object(before: &str, after: &str) -> bool {
    let is_prose = |text: &str| !text.contains(['{', '}', '[', ']', '"', '“', '”']);
    // A member may follow an object that was closed too early.
    let is_continued = after.starts_with([',', ':']);
    // A fence or a code span that is still open may go on.
    let is_open = before.contains('`') && !after.contains('`');
    is_prose(before) && is_prose(after) && !is_continued && !is_open
}

struct LenientReader<'a> {
    /// The text that was not read yet.
    rest: &'a str,
    /// The JSON of what was read.
    json: String,
    changes: Vec<&'static str>,
    /// The number of open containers.
    depth: usize,
}

/// The white space and the comments between two tokens.
#[derive(Clone, Copy, Default)]
struct Gap {
    is_empty: bool,
    has_line_end: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum ValueKind {
    Text,
    Other,
}

impl<'a> LenientReader<'a> {
    fn note(&mut self, change: &'static str) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Takes a text if it is next.
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes the characters up to the first that does not belong to a token.
    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self
            .rest
            .find(|next| !belongs(next))
            .unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        token
    }

    /// Takes white space and comments. `None` for a comment that does not end.
    fn gap(&mut self) -> Option<Gap> {
        let before = self.rest;
        loop {
            let space = self.take_while(char::is_whitespace);
            if space.contains(|next| !matches!(next, ' ' | '\t' | '\n' | '\r')) {
                self.note(SPACE);
            }
            if self.eat("/*") {
                self.rest = self.rest.split_once("*/")?.1;
            } else if self.eat("//") || self.eat("#") {
                self.take_while(|next| !matches!(next, '\n' | '\r'));
            } else {
                break;
            }
            self.note(COMMENT);
        }
        let gap = before.get(..before.len() - self.rest.len())?;
        Some(Gap {
            is_empty: gap.is_empty(),
            has_line_end: gap.contains(['\n', '\r']),
        })
    }

    /// Enters a container.
    fn open(&mut self, bracket: char) -> Option<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH || self.peek() != Some(bracket) {
            return None;
        }
        self.rest = self.rest.get(1..)?;
        self.json.push(bracket);
        Some(())
    }

    /// Leaves a container if its bracket is next.
    fn close(&mut self, bracket: char) -> bool {
        if self.peek() != Some(bracket) {
            return false;
        }
        self.rest = self.rest.get(1..).unwrap_or_default();
        // A comma was written for a member that did not come.
        if self.json.ends_with(',') {
            self.json.pop();
            self.note(TRAILING_COMMA);
        }
        self.json.push(bracket);
        self.depth -= 1;
        true
    }

    fn object(&mut self) -> Option<()> {
        self.open('{')?;
        self.gap()?;
        while !self.close('}') {
            self.key()?;
            self.gap()?;
            if !self.eat(":") {
                return None;
            }
            self.json.push(':');
            self.gap()?;
            let value = self.value()?;
            self.member_end(value)?;
        }
        Some(())
    }

    /// Takes what is between a member and the next key or the bracket.
    fn member_end(&mut self, value: ValueKind) -> Option<()> {
        let gap = self.gap()?;
        if self.eat(",") {
            self.json.push(',');
            self.gap()?;
            return Some(());
        }
        match self.peek()? {
            '}' => Some(()),
            // After a string, the quotation mark may be one that was not escaped.
            '"' | '\'' | '“' | '”' | '‘' | '’'
                if gap.has_line_end || (value != ValueKind::Text && !gap.is_empty) =>
            {
                self.json.push(',');
                self.note(MISSING_COMMA);
                Some(())
            }
            _ => None,
        }
    }

    fn array(&mut self) -> Option<()> {
        self.open('[')?;
        self.gap()?;
        while !self.close(']') {
            self.value()?;
            self.gap()?;
            if self.eat(",") {
                self.json.push(',');
                self.gap()?;
            } else if self.peek()? != ']' {
                return None;
            }
        }
        Some(())
    }

    fn key(&mut self) -> Option<()> {
        if self.string().is_some() {
            return Some(());
        }
        let name =
            self.take_while(|next| next.is_alphanumeric() || matches!(next, '_' | '$' | '-'));
        if !name.starts_with(|first: char| first.is_alphabetic() || matches!(first, '_' | '$')) {
            return None;
        }
        self.json.push('"');
        self.json.push_str(name);
        self.json.push('"');
        self.note(NAME);
        Some(())
    }

    fn value(&mut self) -> Option<ValueKind> {
        match self.peek()? {
            '{' => self.object()?,
            '[' => self.array()?,
            '-' | '0'..='9' => self.number(),
            'A'..='Z' | 'a'..='z' => self.word()?,
            _ => {
                self.string()?;
                return Some(ValueKind::Text);
            }
        }
        Some(ValueKind::Other)
    }

    /// Copies a number. The strict parser checks its form.
    fn number(&mut self) {
        let number = self.take_while(|next| {
            next.is_ascii_alphanumeric() || matches!(next, '+' | '-' | '.' | '_')
        });
        self.json.push_str(number);
    }

    fn word(&mut self) -> Option<()> {
        let word = match self.take_while(|next| next.is_alphanumeric() || next == '_') {
            word @ ("true" | "false" | "null") => word,
            python => {
                let word = match python {
                    "True" => "true",
                    "False" => "false",
                    "None" => "null",
                    _ => return None,
                };
                self.note(PYTHON);
                word
            }
        };
        self.json.push_str(word);
        Some(())
    }

    /// Copies a string, with its characters escaped as JSON wants them. `None`, with nothing read,
    /// if none is next.
    fn string(&mut self) -> Option<()> {
        let closing: &[char] = match self.peek()? {
            '"' => &['"'],
            '\'' => &['\''],
            // The two marks of a pair are often mixed up.
            '“' | '”' => &['“', '”'],
            '‘' | '’' => &['‘', '’'],
            _ => return None,
        };
        if closing != ['"'] {
            self.note(QUOTES);
        }
        self.json.push('"');
        let mut characters = self.rest.chars();
        characters.next();
        loop {
            match characters.next()? {
                end if closing.contains(&end) => break,
                '\\' => {
                    let escaped = characters.next()?;
                    self.escape(escaped)?;
                }
                '"' => self.json.push_str("\\\""),
                raw @ ('\n' | '\r' | '\t') => {
                    push_escaped(&mut self.json, raw.encode_utf8(&mut [0; 4]));
                    self.note(LINE_END);
                }
                control if control < ' ' => return None,
                character => self.json.push(character),
            }
        }
        self.json.push('"');
        self.rest = characters.as_str();
        Some(())
    }

    /// Copies an escape. The strict parser checks the digits of `\u`.
    fn escape(&mut self, escaped: char) -> Option<()> {
        match escaped {
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u' => {
                self.json.push('\\');
                self.json.push(escaped);
            }
            '\'' => {
                self.json.push('\'');
                self.note(ESCAPE);
            }
            // A backslash that was not escaped, or a character: `C:\dir`, `\d`.
            _ => return None,
        }
        Some(())
    }

    /// Takes the closing brackets after the object, and returns the text after them.
    fn after_brackets(&mut self) -> &'a str {
        let after = self
            .rest
            .trim_start_matches(|next: char| next == '}' || next.is_whitespace());
        if self.rest.len() - after.len() > 0 && self.rest.trim_start().starts_with('}') {
            self.note(BRACKET);
        }
        after
    }
}
