//! A JSON text, written again without what is to be hidden.

use super::out::Out;
use super::pair::Named;
use super::path::Path;
use super::{HIDDEN, Rules};
use crate::json::{Token, Tokens};
use std::borrow::Cow;

/// What of a text is shown.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// How many characters are asked for.
    pub(super) characters: usize,
    /// How often it may hold another text of JSON.
    pub(super) within: u8,
    /// Whether the text was cut: then what stands before the first token that is not whole is shown.
    pub(super) cut: bool,
}

/// `None` where it is not JSON, as far as it is read: what lies behind the last character that is asked for is not,
/// unless it may say that something before it is a secret.
pub(super) fn rewritten(rules: &Rules, text: &str, shown: Shown) -> Option<String> {
    // A character has at most four bytes, so past this there are enough of them.
    let enough = shown.characters.saturating_mul(4);
    let mut tokens = Tokens::new(text);
    let mut writing = Writing { rules, within: shown.within, out: Out::default(), path: Path::default(), hidden: 0 };
    loop {
        match tokens.next() {
            Ok(Some(token)) => writing.token(token),
            Ok(None) => break,
            Err(_) if shown.cut => break,
            Err(_) => return None,
        }
        if writing.out.json.len() > enough && !writing.path.waits_for_name() {
            break;
        }
    }
    Some(writing.out.json)
}

struct Writing<'r, 't> {
    rules: &'r Rules,
    within: u8,
    out: Out,
    path: Path<'t>,
    /// How many containers are open that are hidden with what is around them.
    hidden: u32,
}

impl<'t> Writing<'_, 't> {
    fn token(&mut self, token: Token<'t>) {
        if self.hidden > 0 {
            match token {
                Token::Open { .. } => self.hidden += 1,
                Token::Close => self.hidden -= 1,
                _ => {}
            }
            return;
        }
        match token {
            Token::Key(key) => {
                self.out.key(&self.rules.text(&key));
                self.path.key(key);
            }
            Token::Close => {
                if let Some(bracket) = self.path.close() {
                    self.out.close(bracket);
                    self.path.value_ends(self.out.json.len());
                }
            }
            token => {
                self.path.next_item();
                self.value(token);
            }
        }
    }

    fn value(&mut self, token: Token<'t>) {
        if let Token::Text(text) = &token {
            self.name(text);
        }
        if self.rules.hides(&self.path, &token) {
            self.out.text(HIDDEN);
            self.hidden = u32::from(matches!(token, Token::Open { .. }));
            return;
        }
        let is_number = matches!(token, Token::Bare(text) if is_number(text));
        self.path.value_begins(self.out.json.len(), is_number);
        match token {
            Token::Open { object } => {
                self.out.open(if object { "{" } else { "[" });
                self.path.open(object);
                return;
            }
            Token::Text(text) => self.out.text(&self.shown(&text)),
            Token::Bare(text) => self.out.bare(text),
            Token::Key(_) | Token::Close => {}
        }
        self.path.value_ends(self.out.json.len());
    }

    /// A text that may be the name of what else its object has.
    fn name(&mut self, text: &str) {
        if !self.path.is_name() {
            return;
        }
        let named = match (self.rules.is_secret(text, false), self.rules.is_secret(text, true)) {
            (_, true) => Named::Secret,
            (true, false) => Named::SecretUnlessNumber,
            (false, false) => return,
        };
        self.out.hide(&self.path.named(named));
    }

    /// A text inside JSON, which may be JSON itself.
    fn shown<'s>(&self, text: &'s str) -> Cow<'s, str> {
        let is_json = self.within > 0 && text.trim_start().starts_with(['{', '[', '"']);
        let shown = Shown { characters: usize::MAX, within: self.within.saturating_sub(1), cut: false };
        match is_json.then(|| rewritten(self.rules, text, shown)).flatten() {
            Some(json) => Cow::Owned(json),
            None => self.rules.text(text),
        }
    }
}

/// Whether what stands bare is a number.
pub(super) fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
}
