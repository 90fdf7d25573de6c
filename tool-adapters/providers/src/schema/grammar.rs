//! Servers that make a grammar of a schema, which the model then cannot leave.
//!
//! Such a server knows a part of the keywords. Beside a few of them it ignores all others; some
//! keywords it refuses, and with them the whole request; and an object that says nothing of further
//! properties it closes. Known from the sources of llama.cpp (`common/json-schema-to-grammar.cpp`,
//! `src/llama-grammar.cpp`), xgrammar (`cpp/json_schema_converter.cc`, `cpp/regex_converter.cc`)
//! and vLLM (`vllm/v1/structured_output/backend_xgrammar.py`).

use crate::schema::rules::{GrammarRules, TypeSet};
use serde_json::{Map, Value, json};

/// The form of a keyword's value in a grammar.
pub(crate) enum GrammarKeyword {
    Kept,
    /// Another value that means the same.
    Rewritten(Value),
    /// The server would refuse or misread it.
    Refused,
}

impl GrammarRules {
    /// Returns the form of a keyword of a schema for some types.
    pub(crate) fn keyword(&self, types: TypeSet, keyword: &str, value: &Value) -> GrammarKeyword {
        let is_kept = match keyword {
            "pattern" => return plain_keyword(value),
            "minLength" | "maxLength" => value
                .as_u64()
                .is_some_and(|length| length <= self.max_length),
            "minItems" | "maxItems" => value.as_u64().is_some_and(|items| items <= self.max_items),
            "minimum" | "maximum" => self.is_bound(types, value),
            _ => true,
        };
        if is_kept {
            GrammarKeyword::Kept
        } else {
            GrammarKeyword::Refused
        }
    }

    /// Returns true for a bound that a grammar can have: grammars count the digits of integers of
    /// 64 bits.
    fn is_bound(&self, types: TypeSet, bound: &Value) -> bool {
        if (types & TypeSet::NUMBER) == TypeSet::INTEGER {
            bound.is_i64()
        } else {
            self.number_bounds
        }
    }
}

fn plain_keyword(pattern: &Value) -> GrammarKeyword {
    let Some(text) = pattern.as_str() else {
        return GrammarKeyword::Refused;
    };
    match plain_pattern(text) {
        Some(plain) if plain == text => GrammarKeyword::Kept,
        Some(plain) => GrammarKeyword::Rewritten(plain.into()),
        None => GrammarKeyword::Refused,
    }
}

/// Writes the types of schemas that have none, where the server would read the keywords as those of
/// one type.
pub(crate) fn name_types(rules: &GrammarRules, schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    for (keyword, inner) in map.iter_mut() {
        match (keyword.as_str(), inner) {
            ("properties" | "$defs", Value::Object(schemas)) => {
                schemas
                    .values_mut()
                    .for_each(|schema| name_types(rules, schema));
            }
            ("anyOf", Value::Array(schemas)) => schemas
                .iter_mut()
                .for_each(|schema| name_types(rules, schema)),
            ("items" | "additionalProperties", schema) => name_types(rules, schema),
            _ => {}
        }
    }
    let decides = ["type", "enum", "anyOf", "$ref"]
        .iter()
        .any(|keyword| map.contains_key(*keyword));
    if !decides && (rules.lists_any || asserts(map)) {
        map.insert(
            "type".to_owned(),
            json!(["string", "number", "boolean", "object", "array", "null"]),
        );
        if !map.contains_key("properties") {
            map.entry("additionalProperties")
                .or_insert(Value::Bool(true));
        }
        // Where `{}` is any value, an array without items is an empty one.
        if !rules.lists_any {
            map.entry("items").or_insert_with(|| json!({}));
        }
    }
}

fn asserts(map: &Map<String, Value>) -> bool {
    const ANNOTATIONS: [&str; 4] = ["title", "description", "default", "examples"];
    map.keys()
        .any(|keyword| !ANNOTATIONS.contains(&keyword.as_str()))
}

/// The most repetitions of a part of a pattern, with those of the parts around it.
const MAX_REPETITIONS: u32 = 500;

/// Writes a pattern in the form that grammars have; `None` if it has none.
///
/// The form is anchored at both ends, and is made of characters, positive classes, groups,
/// alternatives and repetitions. A grammar is about the text in JSON, where `"`, `\` and control
/// characters are escaped, so nothing may match these: `.` and `[^a]` do. `\d`, `\w`, `(?:` and
/// `+?` are written without them.
pub(crate) fn plain_pattern(pattern: &str) -> Option<String> {
    let inner = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let mut reader = PatternReader {
        rest: inner,
        plain: String::from("^"),
        depth: 0,
    };
    reader.alternatives()?;
    if !reader.rest.is_empty() {
        return None;
    }
    reader.plain.push('$');
    Some(reader.plain)
}

struct PatternReader<'a> {
    rest: &'a str,
    plain: String,
    /// The number of groups around the cursor.
    depth: usize,
}

/// The deepest that groups may nest.
const MAX_DEPTH: usize = 32;

impl PatternReader<'_> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let next = characters.next()?;
        self.rest = characters.as_str();
        Some(next)
    }

    /// Reads alternatives. Returns the most repetitions in one of them.
    fn alternatives(&mut self) -> Option<u32> {
        let mut most = self.sequence()?;
        while self.rest.starts_with('|') {
            // Outside a group, each anchor belongs to one alternative only.
            if self.depth == 0 {
                return None;
            }
            self.eat("|");
            self.plain.push('|');
            most = most.max(self.sequence()?);
        }
        Some(most)
    }

    /// Reads at least one part with its repetition.
    fn sequence(&mut self) -> Option<u32> {
        let mut most = 1;
        let mut is_empty = true;
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let inner = self.part()?;
            let repetitions = inner.checked_mul(self.repetition()?)?;
            if repetitions > MAX_REPETITIONS {
                return None;
            }
            most = most.max(repetitions);
            is_empty = false;
        }
        (!is_empty).then_some(most)
    }

    /// Reads a character, a class or a group. Returns the repetitions in it.
    fn part(&mut self) -> Option<u32> {
        match self.next()? {
            '(' => return self.group(),
            '[' => {
                let class = self.class()?;
                self.plain.push_str(&class.written()?);
            }
            '\\' => {
                let class = self.escape()?;
                self.plain.push_str(&class.written()?);
            }
            literal if is_literal(literal) => self.plain.push(literal),
            _ => return None,
        }
        Some(1)
    }

    fn group(&mut self) -> Option<u32> {
        if self.rest.starts_with('?') && !self.eat("?:") {
            return None;
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.plain.push('(');
        let most = self.alternatives()?;
        if !self.eat(")") {
            return None;
        }
        self.plain.push(')');
        self.depth -= 1;
        Some(most)
    }

    /// Reads a repetition. Returns its maximum; 1 without one.
    fn repetition(&mut self) -> Option<u32> {
        let most = match self.rest.chars().next() {
            Some(sign @ ('*' | '+' | '?')) => {
                self.next();
                self.plain.push(sign);
                1
            }
            Some('{') => {
                let (counts, rest) = self.rest.get(1..)?.split_once('}')?;
                let (least, most) = counts.split_once(',').unwrap_or((counts, counts));
                let least = count(least)?;
                let most = if most.is_empty() { least } else { count(most)? };
                if most == 0 || most < least {
                    return None;
                }
                self.plain.push_str(self.rest.get(..counts.len() + 2)?);
                self.rest = rest;
                most
            }
            _ => return Some(1),
        };
        // How much is matched first makes no difference to what is matched.
        self.eat("?");
        (!self.rest.starts_with(['*', '+', '?', '{'])).then_some(most)
    }

    fn class(&mut self) -> Option<CharacterClass> {
        let mut class = CharacterClass::default();
        loop {
            let first = match self.next()? {
                ']' => break,
                '\\' => match self.escape()?.0.as_slice() {
                    [(one, other)] if one == other => *one,
                    ranges => {
                        class.0.extend_from_slice(ranges);
                        continue;
                    }
                },
                // `[^a]` matches quotation marks, and a `[` is read in different ways.
                '^' | '[' => return None,
                literal => literal,
            };
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            if !is_range {
                class.0.push((first, first));
                continue;
            }
            self.eat("-");
            let last = match self.next()? {
                '\\' => match self.escape()?.0.as_slice() {
                    [(one, other)] if one == other => *one,
                    _ => return None,
                },
                '[' => return None,
                literal => literal,
            };
            if last < first {
                return None;
            }
            class.0.push((first, last));
        }
        Some(class)
    }

    /// Reads what follows a backslash.
    fn escape(&mut self) -> Option<CharacterClass> {
        let ranges = match self.next()? {
            'd' => vec![('0', '9')],
            'w' => vec![('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')],
            mark if mark.is_ascii_punctuation() => vec![(mark, mark)],
            _ => return None,
        };
        Some(CharacterClass(ranges))
    }
}

fn count(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// Returns true for a character that stands for itself in a pattern, in a grammar and in JSON.
fn is_literal(character: char) -> bool {
    is_written_in_json(character) && !".*+?()[]{}|^$".contains(character)
}

/// Returns true for a character that a string in JSON has as it is.
fn is_written_in_json(character: char) -> bool {
    !character.is_control() && !matches!(character, '"' | '\\')
}

/// Characters of a class, in ranges.
#[derive(Default)]
struct CharacterClass(Vec<(char, char)>);

impl CharacterClass {
    /// Writes the class; `None` if it is empty or matches a character that JSON escapes.
    fn written(&self) -> Option<String> {
        let escaped = |mark: char| {
            self.0
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&mark))
        };
        let has_control = self.0.iter().any(|(first, _)| *first < ' ') || escaped('\u{7f}');
        if self.0.is_empty() || has_control || escaped('"') || escaped('\\') {
            return None;
        }
        let mut written = String::from("[");
        let mut has_dash = false;
        for (first, last) in &self.0 {
            match (*first, *last) {
                // It stands for itself at the end only.
                ('-', '-') => has_dash = true,
                // At the beginning it inverts the class.
                ('^' | '-', _) | (_, '^' | '-') => return None,
                (first, last) => {
                    push_member(&mut written, first);
                    if first != last {
                        written.push('-');
                        push_member(&mut written, last);
                    }
                }
            }
        }
        if has_dash {
            written.push('-');
        }
        written.push(']');
        Some(written)
    }
}

fn push_member(class: &mut String, member: char) {
    if matches!(member, '[' | ']') {
        class.push('\\');
    }
    class.push(member);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_plain() {
        let cases = [
            ("^abc$", "^abc$"),
            (r"^\d{4}-\d{2}$", "^[0-9]{4}-[0-9]{2}$"),
            (
                r"^\w+@[\w.-]+\.com$",
                "^[a-zA-Z0-9_]+@[a-zA-Z0-9_.-]+[.]com$",
            ),
            ("^(?:a|b)+?$", "^(a|b)+$"),
            (r"^[A-Z]{2,3}\/x?$", "^[A-Z]{2,3}[/]x?$"),
            ("^[a-z][a-z0-9-]*$", "^[a-z][a-z0-9-]*$"),
            (r"^\[x\]$", r"^[\[]x[\]]$"),
            ("^#[0-9a-fA-F]{6}$", "^#[0-9a-fA-F]{6}$"),
            ("^(ab|c(d|e){2,})*$", "^(ab|c(d|e){2,})*$"),
            ("^é+ü$", "^é+ü$"),
        ];
        for (pattern, plain) in cases {
            assert_eq!(plain_pattern(pattern).as_deref(), Some(plain), "{pattern}");
            assert_eq!(plain_pattern(plain).as_deref(), Some(plain), "{plain}");
        }
    }

    #[test]
    fn patterns_that_a_grammar_would_misread_have_no_plain_form() {
        for pattern in [
            "",
            "^",
            "^$",
            "abc",
            "^abc",
            "abc$",
            "^a|b$",
            "^(a|)$",
            "^()$",
            "^.*$",
            "^[^a]$",
            "^[ -~]$",
            r"^\s$",
            r"^\D$",
            r"^\bx$",
            r"^\\$",
            "^\"$",
            r"^(a)\1$",
            "^(?=a)a$",
            "^(?<n>a)$",
            r"^\p{L}$",
            r"^a\n$",
            "^a{501}$",
            "^(a{100}){6}$",
            "^a{2,1}$",
            "^a{0}$",
            "^a{,3}$",
            "^a**$",
            "^a{2}{3}$",
            "^(a$",
            "^a)$",
            "^[a$",
            "^[z-a]$",
            "^[]$",
            "^[a[b]]$",
            r"^[\^]$",
            "^*a$",
        ] {
            assert_eq!(plain_pattern(pattern), None, "{pattern}");
        }
        let deep = format!("^{}a{}$", "(".repeat(10_000), ")".repeat(10_000));
        assert_eq!(plain_pattern(&deep), None);
    }

    #[test]
    fn a_plain_pattern_matches_the_same_texts() {
        let patterns = [
            r"^\d{2,4}$",
            r"^[\w.-]+$",
            "^(?:a|bc)+?$",
            r"^a\.b$",
            r"^[\]x-]+$",
            r"^\(\d\)$",
        ];
        let texts = [
            "12", "123", "12345", "a.b", "axb", "a-b_c", "abc", "bca", "]x-", "(1)", "", "1a", "é",
        ];
        for pattern in patterns {
            let plain = plain_pattern(pattern).expect(pattern);
            let matches = |pattern: &str, text: &str| {
                jsonschema::is_valid(&json!({"pattern": pattern}), &json!(text))
            };
            for text in texts {
                assert_eq!(
                    matches(&plain, text),
                    matches(pattern, text),
                    "{pattern} {plain} {text}"
                );
            }
        }
    }
}
