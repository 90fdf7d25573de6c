//! The options of `#[arg(...)]` on a parameter.

use syn::meta::ParseNestedMeta;
use syn::parse::Parse;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, Lit, LitStr, Path, Result, Token, token};

use super::bounds::{Number, Range, Size};
use super::{Grammar, choice, flag, has_value, ungrouped, value};
use crate::errors::Errors;

pub(super) const GRAMMAR: Grammar = Grammar {
    shown: "#[arg]",
    known: &[
        "default",
        "name",
        "description",
        "range",
        "length",
        "items",
        "pattern",
        "one_of",
        "format",
        "example",
        "flatten",
    ],
    repeatable: &["example"],
};

/// The formats that are asserted, not merely published.
const FORMATS: &[&str] = &["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

#[derive(Default)]
pub(crate) struct ArgOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) default: Option<DefaultOption>,
    pub(crate) flatten: Option<Path>,
    pub(crate) examples: Vec<Expr>,
    pub(crate) constraints: Vec<Constraint>,
    /// Every option that was written, with its place.
    pub(crate) written: Vec<Path>,
    /// The same by name, for the next attribute.
    seen: Vec<String>,
}

pub(crate) enum DefaultOption {
    /// `default` alone: the type's own.
    OfType,
    Value(Expr),
}

/// A limit on a parameter.
pub(crate) enum Constraint {
    Range(Range),
    Length(Size),
    Items(Size),
    Pattern(LitStr),
    OneOf(Vec<Expr>),
    Format(LitStr),
}

impl Constraint {
    /// The option's name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Range(_) => "range",
            Self::Length(_) => "length",
            Self::Items(_) => "items",
            Self::Pattern(_) => "pattern",
            Self::OneOf(_) => "one_of",
            Self::Format(_) => "format",
        }
    }
}

/// A literal in `one_of`, or a default that the macro can read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Bool(bool),
    Number(Number),
    Text(String),
}

impl Literal {
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
        if let Some(number) = Number::of(expr) {
            return Some(Self::Number(number));
        }
        match ungrouped(expr) {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(Self::Text(text.value())),
                Lit::Bool(bool) => Some(Self::Bool(bool.value)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl ArgOptions {
    pub(crate) fn parse(&mut self, attr: &Attribute, errors: &mut Errors) {
        let mut seen = std::mem::take(&mut self.seen);
        GRAMMAR.read(attr, &mut seen, errors, |key, meta| {
            self.written.push(meta.path.clone());
            self.one(key, meta)
        });
        self.seen = seen;
    }

    fn one(&mut self, key: &str, meta: &ParseNestedMeta) -> Result<()> {
        match key {
            "default" if has_value(meta) => self.default = Some(DefaultOption::Value(value(meta, "30")?)),
            "default" if meta.input.peek(token::Paren) => {
                let message = "`default` takes its value after `=`\nhelp: write `default = 30`, or `default` alone";
                return Err(Error::new_spanned(&meta.path, message));
            }
            "default" => {
                flag(meta)?;
                self.default = Some(DefaultOption::OfType);
            }
            "name" => self.name = Some(value(meta, "\"...\"")?),
            "description" => self.description = Some(value(meta, "\"...\"")?),
            "example" => self.examples.push(value(meta, "\"Berlin\"")?),
            "flatten" => {
                flag(meta)?;
                self.flatten = Some(meta.path.clone());
            }
            _ => {
                self.constraints.push(constraint(key, meta)?);
            }
        }
        Ok(())
    }
}

fn constraint(key: &str, meta: &ParseNestedMeta) -> Result<Constraint> {
    match key {
        "range" => Range::parse(meta).map(Constraint::Range),
        "length" => Size::parse(meta).map(Constraint::Length),
        "items" => Size::parse(meta).map(Constraint::Items),
        "pattern" => pattern(value(meta, "\"^[a-z]+$\"")?),
        "format" => {
            let format: LitStr = value(meta, "\"email\"")?;
            choice("format", &format, FORMATS)?;
            Ok(Constraint::Format(format))
        }
        _ => one_of(meta),
    }
}

fn one_of(meta: &ParseNestedMeta) -> Result<Constraint> {
    if !meta.input.peek(token::Paren) {
        let message = "`one_of` needs its values in parentheses\nhelp: write `one_of(\"asc\", \"desc\")`";
        return Err(Error::new_spanned(&meta.path, message));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let values: Vec<Expr> =
        Punctuated::<Expr, Token![,]>::parse_terminated_with(&content, Expr::parse)?.into_iter().collect();
    if values.is_empty() {
        return Err(Error::new_spanned(&meta.path, "`one_of` lists no value\nhelp: write `one_of(\"asc\", \"desc\")`"));
    }
    let mut known = Vec::new();
    for value in &values {
        match Literal::of(value) {
            Some(literal @ (Literal::Text(_) | Literal::Number(_))) if !known.contains(&literal) => known.push(literal),
            Some(Literal::Text(_) | Literal::Number(_)) => {
                return Err(Error::new_spanned(value, "this value is listed twice\nhelp: remove one of them"));
            }
            _ => {
                return Err(Error::new_spanned(
                    value,
                    "`one_of` takes text and number literals\nhelp: for anything richer, make the parameter an enum",
                ));
            }
        }
    }
    Ok(Constraint::OneOf(values))
}

/// The run time compiles the expression; here only what is plainly broken is refused.
fn pattern(text: LitStr) -> Result<Constraint> {
    let written = text.value();
    if written.is_empty() {
        return Err(Error::new_spanned(
            text,
            "an empty `pattern` matches everything\nhelp: leave it out, or write an expression such as `\"^[a-z]+$\"`",
        ));
    }
    if let Some(problem) = unbalanced(&written) {
        return Err(Error::new_spanned(
            text,
            format!(
                "invalid `pattern`: {problem}\nhelp: close it, or escape it as `\\\\(`; raw strings `r\"...\"` need one backslash only"
            ),
        ));
    }
    Ok(Constraint::Pattern(text))
}

/// The first bracket without its partner.
fn unbalanced(pattern: &str) -> Option<String> {
    let (mut open, mut in_class, mut escaped) = (0_usize, false, false);
    let mut class_is_new = false;
    for letter in pattern.chars() {
        if std::mem::take(&mut escaped) {
            class_is_new = false;
            continue;
        }
        let first_in_class = std::mem::replace(&mut class_is_new, false);
        match letter {
            '\\' => escaped = true,
            // `[]a]` and `[^]a]` hold a bracket; `[^` is still the beginning.
            '^' if first_in_class => class_is_new = true,
            ']' if in_class && !first_in_class => in_class = false,
            '[' if !in_class => (in_class, class_is_new) = (true, true),
            '(' if !in_class => open += 1,
            ')' if !in_class => match open.checked_sub(1) {
                Some(left) => open = left,
                None => return Some("`)` without `(`".to_owned()),
            },
            _ => {}
        }
    }
    if escaped {
        return Some("it ends in a backslash".to_owned());
    }
    if in_class {
        return Some("`[` without `]`".to_owned());
    }
    (open > 0).then(|| "`(` without `)`".to_owned())
}
