//! A text that a simple pattern matches, for examples.
//!
//! Knows literals, classes, groups, alternatives and counts. Any other construct gives no sample rather than a wrong
//! one.

use std::iter::Peekable;
use std::str::Chars;

/// A text that the pattern matches, where the pattern is simple enough.
pub(super) fn sample(pattern: &str) -> Option<String> {
    let mut input = pattern.chars().peekable();
    let text = alternatives(&mut input, 0)?;
    input.next().is_none().then_some(text)
}

/// Reads alternatives up to the end of the group and keeps the first.
fn alternatives(input: &mut Peekable<Chars<'_>>, depth: usize) -> Option<String> {
    if depth > 16 {
        return None;
    }
    let first = sequence(input, depth)?;
    while input.next_if_eq(&'|').is_some() {
        sequence(input, depth)?;
    }
    Some(first)
}

fn sequence(input: &mut Peekable<Chars<'_>>, depth: usize) -> Option<String> {
    let mut text = String::new();
    while let Some(next) = input.next_if(|next| !matches!(next, '|' | ')')) {
        let piece = match next {
            '^' | '$' => continue,
            '(' => group(input, depth)?,
            '[' => class(input)?.to_string(),
            '\\' => escape(input.next()?)?.to_string(),
            '.' => "a".to_owned(),
            '*' | '+' | '?' | '{' => return None,
            literal => literal.to_string(),
        };
        let count = count(input)?;
        if text.len() + piece.len() * count > 4096 {
            return None;
        }
        text.push_str(&piece.repeat(count));
    }
    Some(text)
}

fn group(input: &mut Peekable<Chars<'_>>, depth: usize) -> Option<String> {
    if input.next_if_eq(&'?').is_some() {
        input.next_if_eq(&':')?;
    }
    let text = alternatives(input, depth + 1)?;
    input.next_if_eq(&')')?;
    Some(text)
}

/// The first character of a class.
fn class(input: &mut Peekable<Chars<'_>>) -> Option<char> {
    let first = match input.next()? {
        '^' | '[' | ']' => return None,
        '\\' => escape(input.next()?)?,
        literal => literal,
    };
    loop {
        match input.next()? {
            ']' => return Some(first),
            '[' => return None,
            '\\' => {
                input.next()?;
            }
            _ => {}
        }
    }
}

fn escape(letter: char) -> Option<char> {
    match letter {
        'd' => Some('1'),
        'w' => Some('a'),
        's' => Some(' '),
        other if other.is_ascii_alphanumeric() => None,
        other => Some(other),
    }
}

/// How often the piece before is to stand: as rarely as allowed, but at least once where that is allowed.
fn count(input: &mut Peekable<Chars<'_>>) -> Option<usize> {
    let least = match input.peek() {
        Some('*' | '?' | '+') => {
            input.next();
            1
        }
        Some('{') => {
            input.next();
            braces(input)?
        }
        _ => return Some(1),
    };
    input.next_if_eq(&'?');
    Some(least)
}

fn braces(input: &mut Peekable<Chars<'_>>) -> Option<usize> {
    let mut inside = String::new();
    loop {
        match input.next()? {
            '}' => break,
            other => inside.push(other),
        }
    }
    let (least, most) = inside.split_once(',').unwrap_or((&inside, &inside));
    let least: usize = least.parse().ok()?;
    Some(if least == 0 && most != "0" { 1 } else { least })
}
