//! Questions asked of token streams, and words replaced in them. Types and expressions are looked at this way because
//! they may hold macro calls, into which no syntax tree reaches.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};

/// Whether some identifier among the tokens is `word`.
pub(crate) fn mentions(tokens: impl ToTokens, word: &str) -> bool {
    tokens.into_token_stream().into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => mentions(group.stream(), word),
        _ => false,
    })
}

/// Whether there is a `&`, or a lifetime other than `'static`.
pub(crate) fn borrows(tokens: impl ToTokens) -> bool {
    let mut in_lifetime = false;
    tokens.into_token_stream().into_iter().any(|tree| {
        let named = std::mem::take(&mut in_lifetime);
        match tree {
            TokenTree::Ident(ident) => named && ident != "static",
            TokenTree::Punct(punct) => {
                in_lifetime = punct.as_char() == '\'';
                punct.as_char() == '&'
            }
            TokenTree::Group(group) => borrows(group.stream()),
            TokenTree::Literal(_) => false,
        }
    })
}

/// `Self` becomes the type: the generated items stand outside the `impl`.
pub(crate) fn without_self_type(tokens: impl ToTokens, self_ty: &TokenStream) -> TokenStream {
    let tokens = tokens.into_token_stream();
    if !mentions(&tokens, "Self") {
        return tokens;
    }
    let mut trees = tokens.into_iter().peekable();
    let mut replaced = TokenStream::new();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(ident) if ident == "Self" => {
                let is_prefix =
                    trees.peek().is_some_and(|next| matches!(next, TokenTree::Punct(p) if p.as_char() == ':'));
                replaced.extend(if is_prefix { quote!(<#self_ty>) } else { self_ty.clone() });
            }
            TokenTree::Group(group) => replaced.extend([regrouped(&group, |inner| without_self_type(inner, self_ty))]),
            other => replaced.extend([other]),
        }
    }
    replaced
}

/// `self` becomes the wrapper's own name for the instance.
pub(crate) fn without_self_value(tokens: impl ToTokens, this: &Ident) -> TokenStream {
    let each = |tree| match tree {
        TokenTree::Ident(ident) if ident == "self" => TokenTree::Ident(this.clone()),
        TokenTree::Group(group) => regrouped(&group, |inner| without_self_value(inner, this)),
        other => other,
    };
    tokens.into_token_stream().into_iter().map(each).collect()
}

/// Every elided lifetime becomes `'static`: a schema is asked of a type, not of a borrow.
pub(crate) fn with_static_lifetimes(tokens: impl ToTokens) -> TokenStream {
    let mut trees = tokens.into_token_stream().into_iter().peekable();
    let mut replaced = TokenStream::new();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == '&' => {
                replaced.extend([TokenTree::Punct(punct)]);
                if !trees.peek().is_some_and(|next| matches!(next, TokenTree::Punct(p) if p.as_char() == '\'')) {
                    replaced.extend(quote!('static));
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                replaced.extend([TokenTree::Punct(punct)]);
                let name = trees.next().map(|name| match name {
                    TokenTree::Ident(ident) if ident == "_" => Ident::new("static", ident.span()).into(),
                    other => other,
                });
                replaced.extend(name);
            }
            TokenTree::Group(group) => replaced.extend([regrouped(&group, with_static_lifetimes)]),
            other => replaced.extend([other]),
        }
    }
    replaced
}

fn regrouped(group: &Group, change: impl FnOnce(TokenStream) -> TokenStream) -> TokenTree {
    let mut changed = Group::new(group.delimiter(), change(group.stream()));
    changed.set_span(group.span());
    TokenTree::Group(changed)
}

/// The tokens as text on one line, spaced as people write types.
pub(crate) fn compact(tokens: impl ToTokens) -> String {
    let spaced = tokens.into_token_stream().to_string().replace('\n', " ");
    let mut text = String::with_capacity(spaced.len());
    let mut rest = spaced.as_str();
    while let Some(at) = rest.find(' ') {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        rest = after.trim_start();
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let keeps_space = text.ends_with([',', ';']) || text.ends_with("->") || rest.starts_with("->");
        let keeps_space = keeps_space || text.ends_with(['+', '=']) && !text.ends_with("..=") || rest.starts_with('+');
        if keeps_space || (text.ends_with(word) && rest.starts_with(|c: char| word(c) || c == '\'')) {
            text.push(' ');
        }
    }
    text.push_str(rest);
    text
}

/// A span that points at the user's code and resolves like our own, so that neither lints nor names reach into it.
pub(crate) fn located(tokens: impl ToTokens) -> Span {
    let first = tokens.into_token_stream().into_iter().next();
    first.map_or_else(Span::mixed_site, |tree| tree.span().resolved_at(Span::mixed_site()))
}

/// The tokens of a path, at another place.
pub(crate) fn respanned(tokens: &TokenStream, place: Span) -> TokenStream {
    let each = tokens.clone().into_iter().map(|mut tree| {
        tree.set_span(place.resolved_at(tree.span()));
        tree
    });
    each.collect()
}

/// The line a token stands on, counted from 1; 0 where there is no compiler to ask.
pub(crate) fn line(span: Span) -> u32 {
    if proc_macro_available() { u32::try_from(span.unwrap().line()).unwrap_or_default() } else { 0 }
}

fn proc_macro_available() -> bool {
    extern crate proc_macro;
    proc_macro::is_available()
}
