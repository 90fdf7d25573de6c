//! The options of `#[arg(..)]` on a parameter.

use syn::meta::ParseNestedMeta;
use syn::parse::Parse;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, Lit, LitStr, Path, Result, Token, token};

use super::bounds::{Number, Range, Size};
use super::grammar::{ARG, choice, flag, has_value, ungrouped, value};
use crate::errors::Errors;

/// The formats that are enforced.
const FORMATS: &[&str] = &[
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

#[derive(Default)]
pub(crate) struct ArgOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) default: Option<DefaultOption>,
    pub(crate) flatten: Option<Path>,
    /// The function that completes the argument.
    pub(crate) complete: Option<Expr>,
    pub(crate) examples: Vec<Expr>,
    pub(crate) constraints: Vec<Constraint>,
    /// The path of every option that was given.
    pub(crate) written: Vec<Path>,
    /// The names of these options, for the next `#[arg]` on the parameter.
    seen: Vec<String>,
}

/// `default` or `default = ..`.
pub(crate) enum DefaultOption {
    /// The `Default` of the type.
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
    /// Returns the name of the option.
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

/// A literal in `one_of(..)`, or a default that is a literal.
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
        ARG.read(attr, &mut seen, errors, |key, meta| {
            self.written.push(meta.path.clone());
            self.one(key, meta)
        });
        self.seen = seen;
    }

    fn one(&mut self, key: &str, meta: &ParseNestedMeta) -> Result<()> {
        match key {
            "default" if has_value(meta) => {
                self.default = Some(DefaultOption::Value(value(meta, "30")?));
            }
            "default" if meta.input.peek(token::Paren) => {
                let message = "expected the value of `default` after `=`\nhelp: write `default = 30`, or `default` for the type's own default";
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
            "complete" => self.complete = Some(complete(meta)?),
            _ => {
                self.constraints.push(constraint(key, meta)?);
            }
        }
        Ok(())
    }
}

/// Parses `complete = function`.
fn complete(meta: &ParseNestedMeta) -> Result<Expr> {
    let expr: Expr = value(meta, "Self::cities")?;
    if matches!(ungrouped(&expr), Expr::Lit(_) | Expr::Array(_)) {
        let message = "`complete` takes a function\nhelp: write `complete = Self::cities`, or `one_of(\"a\", \"b\")` for few values";
        return Err(Error::new_spanned(&expr, message));
    }
    Ok(expr)
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
        let message =
            "`one_of` needs a list in parentheses\nhelp: write `one_of(\"asc\", \"desc\")`";
        return Err(Error::new_spanned(&meta.path, message));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let values: Vec<Expr> =
        Punctuated::<Expr, Token![,]>::parse_terminated_with(&content, Expr::parse)?
            .into_iter()
            .collect();
    if values.is_empty() {
        return Err(Error::new_spanned(
            &meta.path,
            "`one_of` lists no value\nhelp: write `one_of(\"asc\", \"desc\")`",
        ));
    }
    let mut known = Vec::new();
    for value in &values {
        match Literal::of(value) {
            Some(literal @ (Literal::Text(_) | Literal::Number(_)))
                if !known.contains(&literal) =>
            {
                known.push(literal);
            }
            Some(Literal::Text(_) | Literal::Number(_)) => {
                return Err(Error::new_spanned(
                    value,
                    "duplicate value in `one_of`\nhelp: remove one of them",
                ));
            }
            _ => {
                return Err(Error::new_spanned(
                    value,
                    "`one_of` takes string and number literals\nhelp: for other values, make the type an enum",
                ));
            }
        }
    }
    Ok(Constraint::OneOf(values))
}

/// Refuses a regular expression that is plainly broken. The program compiles it at run time.
fn pattern(text: LitStr) -> Result<Constraint> {
    let written = text.value();
    if written.is_empty() {
        return Err(Error::new_spanned(
            text,
            "an empty `pattern` matches every text\nhelp: remove it, or write an expression such as `\"^[a-z]+$\"`",
        ));
    }
    if let Some(problem) = unbalanced(&written) {
        return Err(Error::new_spanned(
            text,
            format!(
                "invalid `pattern`: {problem}\nhelp: close the bracket, or escape it with a backslash, as in `r\"\\(\"`"
            ),
        ));
    }
    Ok(Constraint::Pattern(text))
}

/// Describes the first bracket without its partner.
fn unbalanced(pattern: &str) -> Option<String> {
    let mut open = 0_usize;
    let mut in_class = false;
    let mut escaped = false;
    let mut class_is_new = false;
    for letter in pattern.chars() {
        if std::mem::take(&mut escaped) {
            class_is_new = false;
            continue;
        }
        let first_in_class = std::mem::replace(&mut class_is_new, false);
        match letter {
            '\\' => escaped = true,
            // A class such as `[]a]` or `[^]a]` contains a bracket.
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
        return Some("trailing backslash".to_owned());
    }
    if in_class {
        return Some("`[` without `]`".to_owned());
    }
    (open > 0).then(|| "`(` without `)`".to_owned())
}
