//! URI templates of RFC 6570: level 1, and reserved expansion `{+name}`.

use crate::text::escape_invisible;
use crate::tool::completion::TextArguments;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt;
use std::str::FromStr;

/// The maximum length of a URI or a template, in bytes.
pub(crate) const MAX_URI_BYTES: usize = 2_048;

/// A URI template of RFC 6570, level 1: `notes://{id}`. A variable takes the place of a text
/// without `/`, `?` and `#`. Its decoded value has no slash, backslash or control character. One
/// with a plus, `{+path}`, takes the place of any text. A URI without variables is a template, too.
///
/// The value of either can be `..`: check it before you use it as a file's name.
///
/// ```
/// use tool_core::tool::UriTemplate;
///
/// let template: UriTemplate = "notes://{folder}/{id}.md".parse()?;
/// let variables = template.matches("notes://work/a%20b.md").expect("it matches");
/// assert_eq!((variables["folder"].as_str(), variables["id"].as_str()), ("work", "a b"));
/// assert_eq!(template.expand(&variables), "notes://work/a%20b.md");
/// assert!(template.matches("notes://work/more/a.md").is_none());
/// assert!(template.matches("notes://work/more%2Fa.md").is_none());
/// # Ok::<(), tool_core::tool::UriTemplateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    text: String,
    /// The text before the first variable.
    start: String,
    /// Each variable, with the text between it and the next one.
    variables: Vec<Variable>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    /// True for `{+name}`, which matches any character.
    reserved: bool,
    /// The text that follows. Not empty, except after the last variable.
    then: String,
}

/// A problem with a URI or a URI template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("invalid URI template `{}`: {problem}", escape_invisible(template))]
pub struct UriTemplateError {
    /// The template.
    pub template: String,
    /// The problem, and its fix.
    pub problem: String,
}

/// Characters that are not encoded: the unreserved ones of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Reserved expansion keeps the reserved characters and percent signs, too.
const ENCODED_IN_RESERVED: &AsciiSet = &ENCODED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'#')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b'%');

impl FromStr for UriTemplate {
    type Err = UriTemplateError;

    fn from_str(text: &str) -> Result<Self, UriTemplateError> {
        Self::parse(text).map_err(|problem| UriTemplateError {
            template: text.to_owned(),
            problem,
        })
    }
}

impl UriTemplate {
    fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_URI_BYTES {
            return Err(format!(
                "expected at most {MAX_URI_BYTES} bytes, got {}",
                text.len()
            ));
        }
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err("it contains a space or a control character; write it as `%20`".to_owned());
        }
        let (start, mut rest) = match text.find('{') {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        check_literal(start)?;
        check_scheme(start)?;
        let mut variables = Vec::<Variable>::new();
        while let Some(inner) = rest.strip_prefix('{') {
            let (expression, after) = inner.split_once('}').ok_or("a `{` is not closed")?;
            let (name, reserved) = match expression.strip_prefix('+') {
                Some(name) => (name, true),
                None => (expression, false),
            };
            check_name(name)?;
            if variables.iter().any(|known| known.name == name) {
                return Err(format!("the variable `{name}` occurs twice; rename one"));
            }
            let (then, next) = after.split_at(after.find('{').unwrap_or(after.len()));
            check_literal(then)?;
            if then.is_empty() && !next.is_empty() {
                return Err(format!(
                    "no text separates the variable `{name}` from the next one; put a `/` between"
                ));
            }
            variables.push(Variable {
                name: name.to_owned(),
                reserved,
                then: then.to_owned(),
            });
            rest = next;
        }
        Ok(Self {
            text: text.to_owned(),
            start: start.to_owned(),
            variables,
        })
    }

    /// Creates the template that matches every URI.
    pub(crate) fn any() -> Self {
        let variable = Variable {
            name: "uri".to_owned(),
            reserved: true,
            then: String::new(),
        };
        Self {
            text: "{+uri}".to_owned(),
            start: String::new(),
            variables: vec![variable],
        }
    }

    /// Returns true for the template that matches every URI, which cannot be written.
    pub(crate) fn is_any(&self) -> bool {
        self.start.is_empty()
    }

    /// Creates a template that matches nothing, in place of an invalid one.
    pub(crate) fn invalid(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            start: "\0".to_owned(),
            variables: Vec::new(),
        }
    }

    /// Returns the text of the template.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the names of the variables, in order. A fixed URI has none.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| variable.name.as_str())
    }

    /// Returns true for a URI without variables.
    pub fn is_fixed(&self) -> bool {
        self.variables.is_empty()
    }

    /// Returns the decoded values of the variables if the URI matches. A value has at least one
    /// character. Takes time in proportion to the URI.
    pub fn matches(&self, uri: &str) -> Option<TextArguments> {
        if uri.len() > MAX_URI_BYTES {
            return None;
        }
        let mut rest = uri.strip_prefix(self.start.as_str())?;
        let mut values = TextArguments::new();
        let last = self.variables.len().saturating_sub(1);
        for (at, variable) in self.variables.iter().enumerate() {
            // The first text that may follow ends a variable, and the last variable takes all up to
            // the end.
            let (value, after) = if at == last {
                (rest.strip_suffix(variable.then.as_str())?, "")
            } else {
                rest.split_once(variable.then.as_str())?
            };
            let ends_segment = |c: char| matches!(c, '/' | '?' | '#') || c.is_control();
            if value.is_empty() || (!variable.reserved && value.contains(ends_segment)) {
                return None;
            }
            let decoded = percent_decode_str(value).decode_utf8().ok()?;
            if !variable.reserved && decoded.contains(is_unsafe_in_segment) {
                return None;
            }
            values.insert(variable.name.clone(), decoded.into_owned());
            rest = after;
        }
        rest.is_empty().then_some(values)
    }

    /// Writes the URI with these values, encoded. A variable without a value becomes an empty text.
    pub fn expand(&self, values: &TextArguments) -> String {
        let mut uri = self.start.clone();
        for variable in &self.variables {
            let value = values.get(&variable.name).map_or("", String::as_str);
            let encoded = if variable.reserved {
                ENCODED_IN_RESERVED
            } else {
                ENCODED
            };
            uri.extend(utf8_percent_encode(value, encoded));
            uri.push_str(&variable.then);
        }
        uri
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns true for a character that a decoded segment of a path must not have, as a reader would
/// take it for several segments, or for the end of a text.
fn is_unsafe_in_segment(letter: char) -> bool {
    matches!(letter, '/' | '\\') || letter.is_control()
}

fn check_literal(text: &str) -> Result<(), String> {
    if text.contains('}') {
        Err("a `}` has no `{` before it".to_owned())
    } else {
        Ok(())
    }
}

/// Checks that a text begins with a scheme: `^[A-Za-z][A-Za-z0-9+.-]*:`.
fn check_scheme(start: &str) -> Result<(), String> {
    let scheme = start.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    if is_scheme {
        Ok(())
    } else {
        Err("it begins with no scheme; begin it as `notes://`".to_owned())
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.');
    if is_name && !name.is_empty() {
        return Ok(());
    }
    Err(format!(
        "`{{{name}}}` is not a variable of level 1; write `{{name}}`, or `{{+name}}` for a text with slashes"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn template(text: &str) -> UriTemplate {
        text.parse().expect("is a template")
    }

    fn matched(text: &str, uri: &str) -> Option<Vec<(String, String)>> {
        template(text)
            .matches(uri)
            .map(|values| values.into_iter().collect())
    }

    #[test]
    fn a_variable_ends_at_the_next_text() {
        let values = matched("a:{x}-{y}", "a:1-2-3").expect("it matches");
        assert_eq!(
            values,
            [
                ("x".to_owned(), "1".to_owned()),
                ("y".to_owned(), "2-3".to_owned())
            ]
        );
        let values = matched("a:{x}.md", "a:b.md.md").expect("it matches");
        assert_eq!(values, [("x".to_owned(), "b.md".to_owned())]);
    }

    #[test]
    fn a_plain_variable_takes_one_segment() {
        for uri in ["a:1/2", "a:1?q", "a:1#f", "a:", "b:1", "a:1\n"] {
            assert_eq!(matched("a:{x}", uri), None, "{uri}");
        }
        assert!(matched("a:{+x}", "a:1/2?q#f").is_some());
    }

    #[test]
    fn a_plain_variable_decodes_to_one_segment() {
        for uri in [
            "a:..%2Fb",
            "a:%2f",
            "a:..%5Cb",
            "a:b%00",
            "a:b%0A",
            "a:b%C2%85",
            "a:b\\c",
        ] {
            assert_eq!(matched("a:{x}", uri), None, "{uri}");
        }
        assert!(matched("a:{x}", "a:b%3Fc%23d%20e").is_some());
        assert!(matched("a:{+x}", "a:..%2Fb%00").is_some());
    }

    #[test]
    fn bytes_that_are_not_utf_8_do_not_match() {
        assert_eq!(matched("a:{x}", "a:%ff"), None);
    }

    #[test]
    fn invalid_templates_name_the_problem() {
        let cases = [
            ("{x}", "no scheme"),
            ("1a:x", "no scheme"),
            ("a:{x", "not closed"),
            ("a:x}", "no `{` before"),
            ("a:{x}}", "no `{` before"),
            ("a:{}", "not a variable of level 1"),
            ("a:{?q}", "not a variable of level 1"),
            ("a:{x,y}", "not a variable of level 1"),
            ("a:{x*}", "not a variable of level 1"),
            ("a:{x}{y}", "separates"),
            ("a:{x}/{x}", "twice"),
            ("a: b", "space"),
        ];
        for (text, problem) in cases {
            let error = text.parse::<UriTemplate>().expect_err(text).to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_expanded_is_matched(x in "[^\\p{C}/\\\\]{1,20}", y in "[^\\p{Cc}/\\\\]{1,20}", z in "[^%]{1,20}") {
            let template = template("a:{x}/b/{y}.c/{+z}");
            let values = TextArguments::from([("x".to_owned(), x), ("y".to_owned(), y), ("z".to_owned(), z)]);
            prop_assert_eq!(template.matches(&template.expand(&values)), Some(values));
        }
    }
}
