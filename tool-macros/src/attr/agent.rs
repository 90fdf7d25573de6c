//! The options of `#[agent(..)]`: the name, which is given without a key, and `crate`.

use proc_macro2::TokenStream;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, Meta, Path, Result, Token};

use super::grammar::{AGENT, crate_path, from_call, ungrouped};
use crate::errors::Errors;
use crate::tokens::compact;

#[derive(Default)]
pub(crate) struct AgentOptions {
    /// A string literal, or an expression of type `&'static str`.
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
        AGENT.read(&rest, &mut Vec::new(), errors, |_, meta| {
            options.krate = Some(crate_path(meta)?);
            Ok(())
        });
        options.name = options
            .name
            .take()
            .filter(|name| errors.take(is_name(name)).is_some());
        options
    }
}

/// Parses the name, and returns the tokens of the options after it.
fn name_and_rest(input: ParseStream) -> Result<(Option<Expr>, TokenStream)> {
    if is_option(input) && input.fork().call(Ident::parse_any)? == "name" {
        let key = input.call(Ident::parse_any)?;
        let _ = input.parse::<Token![=]>()?;
        let name = input.parse::<Expr>()?;
        let message = format!(
            "the name of an agent is given without a key\nhelp: write `#[agent({})]`",
            compact(name)
        );
        return Err(Error::new_spanned(key, message));
    }
    let name = if input.is_empty() || is_option(input) {
        None
    } else {
        Some(input.parse()?)
    };
    if name.is_some() && !input.is_empty() {
        input.parse::<Token![,]>().map_err(|error| {
            Error::new(
                error.span(),
                "expected `,` after the name\nhelp: separate the name and the options by a comma",
            )
        })?;
    }
    Ok((name, input.parse()?))
}

/// Returns whether `key = ..` comes next.
fn is_option(input: ParseStream) -> bool {
    input.peek(Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==])
}

/// Refuses a literal that is not a name. rustc checks other expressions.
fn is_name(name: &Expr) -> Result<()> {
    let message = match ungrouped(name) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.value().trim().is_empty() => {
            "the name of an agent cannot be empty\nhelp: write `#[agent(\"researcher\")]`, or `#[agent]` for the name of the function"
                .to_owned()
        }
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => return Ok(()),
        Expr::Lit(other) => {
            format!(
                "invalid agent name `{}`\nhelp: write a string, as in `#[agent(\"researcher\")]`",
                compact(other)
            )
        }
        _ => return Ok(()),
    };
    Err(Error::new_spanned(name, message))
}

/// Returns whether the attribute is `#[agent]` of tool-core. Other crates have attributes of that
/// name too, so a path has to lead through tool-core.
pub(crate) fn is_agent(attr: &Attribute, krate: Option<&Path>) -> bool {
    let segments = &attr.path().segments;
    let Some(first) = segments.first() else {
        return false;
    };
    let is_ours = |path: &Path| {
        path.segments
            .first()
            .is_some_and(|segment| segment.ident == first.ident)
    };
    let through = segments.len() == 1 || first.ident == "tool_core" || krate.is_some_and(is_ours);
    through
        && segments
            .last()
            .is_some_and(|segment| segment.ident == "agent")
}
