//! Options of our attributes: each is read once, with its span; an unknown or repeated one is reported and skipped,
//! so that the mistakes after it are found too.

pub(crate) mod agent;
pub(crate) mod arg;
pub(crate) mod bounds;
pub(crate) mod foreign;
pub(crate) mod tool;
pub(crate) mod tool_error;
pub(crate) mod toolset;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{Parse, ParseStream};
use syn::{AttrStyle, Attribute, Error, Expr, LitStr, MacroDelimiter, Meta, MetaList, Result, Token, token};

use crate::errors::Errors;
use crate::names::{listed, nearest, suggestion};
use crate::tokens::compact;

/// Whether the attribute is ours, written `#[tool]` or by a path that ends so.
pub(crate) fn is(attr: &Attribute, name: &str) -> bool {
    attr.path().segments.last().is_some_and(|segment| segment.ident == name)
}

/// The attribute that a macro was called by, put together again from its arguments.
pub(crate) fn from_call(name: &str, tokens: TokenStream) -> Attribute {
    let path = Ident::new(name, Span::call_site()).into();
    let meta = if tokens.is_empty() {
        Meta::Path(path)
    } else {
        Meta::List(MetaList { path, delimiter: MacroDelimiter::Paren(token::Paren::default()), tokens })
    };
    Attribute {
        pound_token: <Token![#]>::default(),
        style: AttrStyle::Outer,
        bracket_token: token::Bracket::default(),
        meta,
    }
}

/// What an attribute may say.
pub(crate) struct Grammar {
    /// As users write it: `#[tool]`.
    pub(crate) shown: &'static str,
    pub(crate) known: &'static [&'static str],
    /// The options that may stand more than once.
    pub(crate) repeatable: &'static [&'static str],
}

/// The attributes that stand together around a function, and whose options are easily confused.
const OF_FUNCTIONS: &[&Grammar] = &[&tool::GRAMMAR, &toolset::GRAMMAR, &arg::GRAMMAR];

impl Grammar {
    /// Hands each option to `one`, by name. `seen` holds what earlier attributes of the same item said.
    pub(crate) fn read(
        &self,
        attr: &Attribute,
        seen: &mut Vec<String>,
        errors: &mut Errors,
        mut one: impl FnMut(&str, &ParseNestedMeta) -> Result<()>,
    ) {
        match &attr.meta {
            Meta::Path(_) => return,
            Meta::NameValue(meta) => {
                let fix = self.shown.replace(']', "(...)]");
                errors.report(meta, format!("the options of `{}` go in parentheses\nhelp: write `{fix}`", self.shown));
                return;
            }
            Meta::List(_) => {}
        }
        let all = attr.parse_nested_meta(|meta| {
            let outcome = self.key(&meta, seen).and_then(|key| one(&key, &meta)).and_then(|()| ends(&meta));
            if let Err(error) = outcome {
                errors.push(error);
                up_to_comma(meta.input);
            }
            Ok(())
        });
        // Only what is no name at all gets here.
        errors.take(all.map_err(|error| {
            let all = listed(self.known.iter().copied());
            Error::new(error.span(), format!("expected the name of an option\nhelp: expected one of {all}"))
        }));
    }

    fn key(&self, meta: &ParseNestedMeta, seen: &mut Vec<String>) -> Result<String> {
        let written = meta.path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect::<Vec<_>>();
        let key = written.join("::");
        if !self.known.contains(&key.as_str()) {
            let home =
                OF_FUNCTIONS.iter().find(|other| other.shown != self.shown && other.known.contains(&key.as_str()));
            let help = match home {
                Some(other) => format!("help: `{key}` is an option of `{}`", other.shown),
                None => suggestion(&key, self.known),
            };
            return Err(Error::new_spanned(&meta.path, format!("unknown `{}` option `{key}`\n{help}", self.shown)));
        }
        if seen.contains(&key) && !self.repeatable.contains(&key.as_str()) {
            let message = format!("option `{key}` is given twice\nhelp: remove one of them");
            return Err(Error::new_spanned(&meta.path, message));
        }
        seen.push(key.clone());
        Ok(key)
    }
}

/// What is left of an option.
fn up_to_comma(input: ParseStream) -> TokenStream {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        match input.parse::<TokenTree>() {
            Ok(tree) => tokens.extend([tree]),
            Err(_) => break,
        }
    }
    tokens
}

/// After an option comes a comma or nothing.
fn ends(meta: &ParseNestedMeta) -> Result<()> {
    if meta.input.is_empty() || meta.input.peek(Token![,]) {
        return Ok(());
    }
    let (next, key) = (meta.input.fork().parse::<TokenTree>()?, shown_key(meta));
    let message = format!("unexpected `{next}` after the option `{key}`\nhelp: write a comma between options");
    Err(Error::new_spanned(next, message))
}

/// `key = value`; `example` shows the form in the message.
pub(crate) fn value<T: Parse>(meta: &ParseNestedMeta, example: &str) -> Result<T> {
    value_by(meta, example, T::parse)
}

/// The same, for what is parsed in a way of its own.
pub(crate) fn value_by<T>(meta: &ParseNestedMeta, example: &str, parse: fn(ParseStream) -> Result<T>) -> Result<T> {
    if !meta.input.peek(Token![=]) {
        return Err(missing(meta, example));
    }
    let input = meta.value()?;
    let ahead = input.fork();
    if let Ok(value) = parse(&ahead) {
        input.advance_to(&ahead);
        return Ok(value);
    }
    let written = up_to_comma(input);
    Err(if written.is_empty() { missing(meta, example) } else { refused(meta, &written, example) })
}

fn missing(meta: &ParseNestedMeta, example: &str) -> Error {
    let key = shown_key(meta);
    Error::new_spanned(&meta.path, format!("`{key}` needs a value\nhelp: write `{key} = {example}`"))
}

/// What was written is no value of this option.
pub(crate) fn refused(meta: &ParseNestedMeta, written: impl ToTokens, example: &str) -> Error {
    let (key, shown) = (shown_key(meta), compact(&written));
    // A word without its quotes is most likely the word that is meant.
    let word = shown.starts_with(char::is_alphabetic) && shown.chars().all(|it| it.is_alphanumeric() || it == '_');
    let fix = if word && example.starts_with('"') { format!("\"{shown}\"") } else { example.to_owned() };
    Error::new_spanned(written, format!("`{key}` cannot be `{shown}`\nhelp: write `{key} = {fix}`"))
}

/// `key` alone.
pub(crate) fn flag(meta: &ParseNestedMeta) -> Result<()> {
    if meta.input.peek(Token![=]) || meta.input.peek(token::Paren) {
        let key = shown_key(meta);
        let message = format!("`{key}` takes no value\nhelp: write `{key}` alone, or leave it out");
        return Err(Error::new_spanned(&meta.path, message));
    }
    Ok(())
}

/// Whether an `=` follows the key.
pub(crate) fn has_value(meta: &ParseNestedMeta) -> bool {
    meta.input.peek(Token![=])
}

/// A text out of a closed set.
pub(crate) fn choice(what: &str, text: &LitStr, known: &[&'static str]) -> Result<&'static str> {
    let word = text.value();
    known.iter().find(|candidate| **candidate == word).copied().ok_or_else(|| {
        let all = known.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ");
        let near = nearest(&word, known).map(|near| format!("did you mean `\"{near}\"`? ")).unwrap_or_default();
        Error::new_spanned(text, format!("unknown {what} `{word}`\nhelp: {near}expected one of {all}"))
    })
}

fn shown_key(meta: &ParseNestedMeta) -> String {
    meta.path.segments.last().map(|segment| segment.ident.unraw().to_string()).unwrap_or_default()
}

/// The expression inside the invisible groups of `macro_rules!` and any parentheses.
pub(crate) fn ungrouped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => ungrouped(&group.expr),
        Expr::Paren(paren) => ungrouped(&paren.expr),
        other => other,
    }
}
