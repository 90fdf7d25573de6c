//! The options of `#[agent(...)]`: the name, which stands alone, and the path to tool-core.

use proc_macro2::TokenStream;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, Meta, Path, Result, Token};

use super::toolset::crate_path;
use super::{Grammar, from_call, ungrouped};
use crate::errors::Errors;
use crate::tokens::compact;

pub(super) const GRAMMAR: Grammar = Grammar { shown: "#[agent]", known: &["crate"], repeatable: &[] };

#[derive(Default)]
pub(crate) struct AgentOptions {
    /// A text, or an expression that gives one.
    pub(crate) name: Option<Expr>,
    pub(crate) krate: Option<Path>,
}

impl AgentOptions {
    pub(crate) fn parse(attr: &Attribute, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let rest = match &attr.meta {
            Meta::List(list) => match name_and_rest.parse2(list.tokens.clone()) {
                Ok((name, rest)) => {
                    options.name = name;
                    from_call("agent", rest)
                }
                Err(error) => {
                    errors.push(error);
                    return options;
                }
            },
            _ => attr.clone(),
        };
        GRAMMAR.read(&rest, &mut Vec::new(), errors, |_, meta| {
            options.krate = Some(crate_path(meta)?);
            Ok(())
        });
        options.name = options.name.take().filter(|name| errors.take(is_name(name)).is_some());
        options
    }
}

/// What stands before the options, and the options.
fn name_and_rest(input: ParseStream) -> Result<(Option<Expr>, TokenStream)> {
    if is_option(input) && input.fork().call(Ident::parse_any)? == "name" {
        let (key, _, name) = (input.call(Ident::parse_any)?, input.parse::<Token![=]>()?, input.parse::<Expr>()?);
        let message = format!("an agent's name stands alone\nhelp: write `#[agent({})]`", compact(name));
        return Err(Error::new_spanned(key, message));
    }
    let name = if input.is_empty() || is_option(input) { None } else { Some(input.parse()?) };
    if name.is_some() && !input.is_empty() {
        input.parse::<Token![,]>().map_err(|error| {
            Error::new(error.span(), "unexpected text after the name\nhelp: write a comma between name and options")
        })?;
    }
    Ok((name, input.parse()?))
}

/// Whether `key = ..` comes next.
fn is_option(input: ParseStream) -> bool {
    input.peek(Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==])
}

/// What is no literal is for rustc to judge.
fn is_name(name: &Expr) -> Result<()> {
    let message = match ungrouped(name) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.value().trim().is_empty() => {
            "an agent needs a name\nhelp: write `#[agent(\"researcher\")]`, or `#[agent]` for the name of the function"
                .to_owned()
        }
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => return Ok(()),
        Expr::Lit(other) => {
            format!(
                "an agent cannot be called `{}`\nhelp: its name is a text: write `#[agent(\"researcher\")]`",
                compact(other)
            )
        }
        _ => return Ok(()),
    };
    Err(Error::new_spanned(name, message))
}

/// Whether the attribute is ours: `#[agent]`, or by a path through tool-core. Other crates have attributes of that name.
pub(crate) fn is_agent(attr: &Attribute, krate: Option<&Path>) -> bool {
    let segments = &attr.path().segments;
    let Some(first) = segments.first() else { return false };
    let is_ours = |path: &Path| path.segments.first().is_some_and(|segment| segment.ident == first.ident);
    let through = segments.len() == 1 || first.ident == "tool_core" || krate.is_some_and(is_ours);
    through && segments.last().is_some_and(|segment| segment.ident == "agent")
}
