//! The options that each attribute takes, and how they are read.
//!
//! Each option is read once. An unknown or repeated option is reported and skipped, so that the
//! mistakes after it are reported too.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{Parse, ParseStream};
use syn::{
    AttrStyle, Attribute, Error, Expr, LitStr, MacroDelimiter, Meta, MetaList, Path, Result, Token,
    token,
};

use super::synonyms;
use crate::errors::Errors;
use crate::names::{listed, nearest, suggestion};
use crate::tokens::compact;

/// Returns whether the attribute has this name, alone or as the end of a path.
pub(crate) fn is(attr: &Attribute, name: &str) -> bool {
    is_path_to(attr.path(), name)
}

/// Returns whether the last segment of a path is `name`.
pub(super) fn is_path_to(path: &Path, name: &str) -> bool {
    path.segments
        .last()
        .is_some_and(|segment| segment.ident == name)
}

/// Rebuilds the attribute that called a macro from its arguments.
pub(crate) fn from_call(name: &str, tokens: TokenStream) -> Attribute {
    let path = Ident::new(name, Span::call_site()).into();
    let meta = if tokens.is_empty() {
        Meta::Path(path)
    } else {
        Meta::List(MetaList {
            path,
            delimiter: MacroDelimiter::Paren(token::Paren::default()),
            tokens,
        })
    };
    Attribute {
        pound_token: <Token![#]>::default(),
        style: AttrStyle::Outer,
        bracket_token: token::Bracket::default(),
        meta,
    }
}

/// The options that an attribute takes.
pub(crate) struct AttributeGrammar {
    /// The attribute as users write it: `#[tool]`.
    pub(crate) shown: &'static str,
    pub(crate) known: &'static [&'static str],
    /// The options that may be given more than once.
    pub(crate) repeatable: &'static [&'static str],
}

pub(crate) static TOOL: AttributeGrammar = AttributeGrammar {
    shown: "#[tool]",
    known: &[
        "name",
        "title",
        "description",
        "category",
        "modes",
        "confirm",
        "ask_each_time",
        "timeout",
        "idempotent",
        "destructive",
        "open_world",
        "ignore_on_enter",
        "cancellable",
        "on_duplicate",
        "duplicate_scope",
        "sequential",
        "blocking",
        "max_output",
        "max_calls",
        "retries",
        "guide",
        "dynamic",
        "errors",
        "args",
        "crate",
    ],
    repeatable: &[],
};

/// An option whose value is a time.
pub(crate) struct TimeGrammar {
    pub(crate) name: &'static str,
    /// The value that messages show.
    pub(crate) example: &'static str,
}

/// The times among the options of `#[tool]`. Each sets the option of its name in `ToolSpec`.
pub(crate) static TOOL_TIMES: &[TimeGrammar] = &[TimeGrammar {
    name: "timeout",
    example: "\"5s\"",
}];

/// An option whose value is a whole number from 1.
pub(crate) struct NumberGrammar {
    pub(crate) name: &'static str,
    /// The value that messages show.
    pub(crate) example: &'static str,
    pub(crate) most: u64,
    /// The message for 0.
    pub(crate) zero: &'static str,
}

const NO_LIMIT: &str =
    "a limit of `0` would refuse every call\nhelp: remove the option for no limit";

/// The numbers among the options of `#[tool]`. Each sets the option of its name in `ToolSpec`.
pub(crate) static TOOL_NUMBERS: &[NumberGrammar] = &[
    NumberGrammar {
        name: "max_output",
        example: "1500",
        most: usize::MAX as u64,
        zero: NO_LIMIT,
    },
    NumberGrammar {
        name: "max_calls",
        example: "3",
        most: u32::MAX as u64,
        zero: NO_LIMIT,
    },
    NumberGrammar {
        name: "retries",
        example: "2",
        most: 16,
        zero: "`0` is no number of retries\nhelp: remove the option for no retries",
    },
];

pub(super) static PROMPT: AttributeGrammar = AttributeGrammar {
    shown: "#[prompt]",
    known: &["name", "title", "description", "dynamic", "errors", "crate"],
    repeatable: &[],
};

pub(super) static RESOURCE: AttributeGrammar = AttributeGrammar {
    shown: "#[resource]",
    known: &[
        "uri",
        "mime",
        "name",
        "title",
        "description",
        "dynamic",
        "errors",
        "crate",
    ],
    repeatable: &[],
};

pub(super) static TOOLSET: AttributeGrammar = AttributeGrammar {
    shown: "#[toolset]",
    known: &[
        "name",
        "title",
        "description",
        "prefix",
        "auth",
        "crate",
        "discover",
        "part",
        "parts",
    ],
    repeatable: &[],
};

pub(super) static ARG: AttributeGrammar = AttributeGrammar {
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
        "complete",
    ],
    repeatable: &["example"],
};

pub(super) static AGENT: AttributeGrammar = AttributeGrammar {
    shown: "#[agent]",
    known: &["crate"],
    repeatable: &[],
};

pub(crate) static TOOL_TYPE: AttributeGrammar = AttributeGrammar {
    shown: "#[tool_type]",
    known: &["input", "crate"],
    repeatable: &[],
};

pub(crate) static SETTING: AttributeGrammar = AttributeGrammar {
    shown: "#[setting]",
    known: &["binds_secret"],
    repeatable: &[],
};

pub(crate) static TOOL_ERROR: AttributeGrammar = AttributeGrammar {
    shown: "#[tool_error]",
    known: &["kind", "retryable", "partial_side_effects", "crate"],
    repeatable: &[],
};

impl AttributeGrammar {
    /// Passes each option to `one`, by name. `seen` holds the options of earlier attributes on the
    /// same item.
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
                errors.report(
                    meta,
                    format!(
                        "expected the options of `{}` in parentheses\nhelp: write `{fix}`",
                        self.shown
                    ),
                );
                return;
            }
            Meta::List(_) => {}
        }
        let all = attr.parse_nested_meta(|meta| {
            let outcome = self
                .key(&meta, seen)
                .and_then(|key| one(&key, &meta))
                .and_then(|()| ends(&meta));
            if let Err(error) = outcome {
                errors.push(error);
                up_to_comma(meta.input);
            }
            Ok(())
        });
        // The closure handles every error but one: the option does not begin with a name.
        errors.take(all.map_err(|error| {
            let all = listed(self.known.iter().copied());
            Error::new(
                error.span(),
                format!("expected an option\nhelp: expected one of {all}"),
            )
        }));
    }

    fn key(&self, meta: &ParseNestedMeta, seen: &mut Vec<String>) -> Result<String> {
        let written = meta
            .path
            .segments
            .iter()
            .map(|segment| segment.ident.unraw().to_string())
            .collect::<Vec<_>>();
        let key = written.join("::");
        if !self.known.contains(&key.as_str()) {
            // These attributes are written around one function, and their options are easily
            // confused.
            let home = [&TOOL, &TOOLSET, &ARG]
                .into_iter()
                .find(|other| other.shown != self.shown && other.known.contains(&key.as_str()));
            let help = match (synonyms::help(self, &key), home) {
                (Some(help), _) => format!("help: {help}"),
                (None, Some(other)) => format!("help: `{key}` is an option of `{}`", other.shown),
                (None, None) => suggestion(&key, self.known),
            };
            return Err(Error::new_spanned(
                &meta.path,
                format!("unknown `{}` option `{key}`\n{help}", self.shown),
            ));
        }
        if seen.contains(&key) && !self.repeatable.contains(&key.as_str()) {
            let message = format!("duplicate option `{key}`\nhelp: remove one of them");
            return Err(Error::new_spanned(&meta.path, message));
        }
        seen.push(key.clone());
        Ok(key)
    }
}

/// Takes the rest of an option.
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

/// Refuses anything but a comma or the end after an option.
fn ends(meta: &ParseNestedMeta) -> Result<()> {
    if meta.input.is_empty() || meta.input.peek(Token![,]) {
        return Ok(());
    }
    let next = meta.input.fork().parse::<TokenTree>()?;
    let key = shown_key(meta);
    let message =
        format!("unexpected `{next}` after the option `{key}`\nhelp: separate options by commas");
    Err(Error::new_spanned(next, message))
}

/// Parses `key = value`. The message of an error shows `example`.
pub(crate) fn value<T: Parse>(meta: &ParseNestedMeta, example: &str) -> Result<T> {
    value_by(meta, example, T::parse)
}

/// Parses `key = value` with a parser for the value.
pub(crate) fn value_by<T>(
    meta: &ParseNestedMeta,
    example: &str,
    parse: fn(ParseStream) -> Result<T>,
) -> Result<T> {
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
    Err(if written.is_empty() {
        missing(meta, example)
    } else {
        invalid_value(meta, &written, example)
    })
}

fn missing(meta: &ParseNestedMeta, example: &str) -> Error {
    let key = shown_key(meta);
    Error::new_spanned(
        &meta.path,
        format!("`{key}` needs a value\nhelp: write `{key} = {example}`"),
    )
}

/// Makes the error for a value that the option does not take.
pub(crate) fn invalid_value(
    meta: &ParseNestedMeta,
    written: impl ToTokens,
    example: &str,
) -> Error {
    let key = shown_key(meta);
    let shown = compact(&written);
    // A word without quotes is most likely the intended text.
    let word = shown.starts_with(char::is_alphabetic)
        && shown.chars().all(|it| it.is_alphanumeric() || it == '_');
    let fix = if word && example.starts_with('"') {
        format!("\"{shown}\"")
    } else {
        example.to_owned()
    };
    Error::new_spanned(
        written,
        format!("invalid value `{shown}` for `{key}`\nhelp: write `{key} = {fix}`"),
    )
}

/// Parses `key` without a value.
pub(crate) fn flag(meta: &ParseNestedMeta) -> Result<()> {
    if meta.input.peek(Token![=]) || meta.input.peek(token::Paren) {
        let key = shown_key(meta);
        let message = format!("`{key}` takes no value\nhelp: write `{key}`, or remove it");
        return Err(Error::new_spanned(&meta.path, message));
    }
    Ok(())
}

/// Returns whether `=` follows the key.
pub(crate) fn has_value(meta: &ParseNestedMeta) -> bool {
    meta.input.peek(Token![=])
}

/// Returns the text if it is one of `known`.
pub(crate) fn choice(what: &str, text: &LitStr, known: &[&'static str]) -> Result<&'static str> {
    let word = text.value();
    known
        .iter()
        .find(|candidate| **candidate == word)
        .copied()
        .ok_or_else(|| {
            let all = known
                .iter()
                .map(|word| format!("`\"{word}\"`"))
                .collect::<Vec<_>>()
                .join(", ");
            let near = nearest(&word, known)
                .map(|near| format!("did you mean `\"{near}\"`? "))
                .unwrap_or_default();
            Error::new_spanned(
                text,
                format!("unknown {what} `{word}`\nhelp: {near}expected one of {all}"),
            )
        })
}

fn shown_key(meta: &ParseNestedMeta) -> String {
    meta.path
        .segments
        .last()
        .map(|segment| segment.ident.unraw().to_string())
        .unwrap_or_default()
}

/// Returns the expression inside parentheses and the invisible groups of `macro_rules!`.
pub(crate) fn ungrouped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => ungrouped(&group.expr),
        Expr::Paren(paren) => ungrouped(&paren.expr),
        other => other,
    }
}

/// Parses `crate = path`. The path may begin with a keyword.
pub(crate) fn crate_path(meta: &ParseNestedMeta) -> Result<Path> {
    value_by(meta, "::path::to::tool_core", Path::parse_mod_style)
}
