//! Searches and replacements in token streams.
//!
//! Types and expressions may contain macro calls, into which a syntax tree does not reach.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use std::cell::Cell;

/// Returns whether the tokens contain the identifier `word`.
pub(crate) fn mentions(tokens: impl ToTokens, word: &str) -> bool {
    tokens
        .into_token_stream()
        .into_iter()
        .any(|tree| match tree {
            TokenTree::Ident(ident) => ident == word,
            TokenTree::Group(group) => mentions(group.stream(), word),
            _ => false,
        })
}

/// Returns whether the tokens contain the value `self`. In `self::f`, it is a module.
pub(crate) fn mentions_self_value(tokens: impl ToTokens) -> bool {
    let trees = tokens.into_token_stream().into_iter().collect::<Vec<_>>();
    trees.iter().enumerate().any(|(index, tree)| match tree {
        TokenTree::Group(group) => mentions_self_value(group.stream()),
        tree => is_self_value(tree, trees.get(index + 1)),
    })
}

/// Returns whether a token is the value `self`, by the token after it.
fn is_self_value(tree: &TokenTree, next: Option<&TokenTree>) -> bool {
    let is_path = matches!(next, Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    matches!(tree, TokenTree::Ident(ident) if ident == "self") && !is_path
}

/// Returns whether the tokens contain `&` or a lifetime other than `'static`.
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

/// Replaces `Self` by the type, as generated items are outside the `impl`.
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
                let is_prefix = trees
                    .peek()
                    .is_some_and(|next| matches!(next, TokenTree::Punct(p) if p.as_char() == ':'));
                let self_ty = respanned(self_ty, ident.span());
                replaced.extend(if is_prefix {
                    quote!(<#self_ty>)
                } else {
                    self_ty
                });
            }
            TokenTree::Group(group) => {
                let inner = without_self_type(group.stream(), self_ty);
                replaced.extend([TokenTree::from(regrouped(&group, inner))]);
            }
            other => replaced.extend([other]),
        }
    }
    replaced
}

/// Replaces the value `self` by the name that the wrapper gives the instance.
pub(crate) fn without_self_value(tokens: impl ToTokens, this: &Ident) -> TokenStream {
    let mut trees = tokens.into_token_stream().into_iter().peekable();
    let mut replaced = TokenStream::new();
    while let Some(tree) = trees.next() {
        let tree = match tree {
            TokenTree::Group(group) => {
                let inner = without_self_value(group.stream(), this);
                regrouped(&group, inner).into()
            }
            tree if is_self_value(&tree, trees.peek()) => TokenTree::Ident(this.clone()),
            other => other,
        };
        replaced.extend([tree]);
    }
    replaced
}

/// Replaces elided lifetimes by `'static`, as a schema belongs to a type and not to a borrow.
pub(crate) fn with_static_lifetimes(tokens: impl ToTokens) -> TokenStream {
    let mut trees = tokens.into_token_stream().into_iter().peekable();
    let mut replaced = TokenStream::new();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == '&' => {
                replaced.extend([TokenTree::Punct(punct)]);
                if !trees
                    .peek()
                    .is_some_and(|next| matches!(next, TokenTree::Punct(p) if p.as_char() == '\''))
                {
                    replaced.extend(quote!('static));
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                replaced.extend([TokenTree::Punct(punct)]);
                let name = trees.next().map(|name| match name {
                    TokenTree::Ident(ident) if ident == "_" => {
                        Ident::new("static", ident.span()).into()
                    }
                    other => other,
                });
                replaced.extend(name);
            }
            TokenTree::Group(group) => {
                let inner = with_static_lifetimes(group.stream());
                replaced.extend([TokenTree::from(regrouped(&group, inner))]);
            }
            other => replaced.extend([other]),
        }
    }
    replaced
}

/// Returns the group with other contents, at the same place.
pub(crate) fn regrouped(group: &Group, inner: TokenStream) -> Group {
    let mut changed = Group::new(group.delimiter(), inner);
    changed.set_span(group.span());
    changed
}

/// Returns the tokens of an item between its attributes and its braces, for an error about the
/// whole item.
pub(crate) fn head_of(mut trees: &[TokenTree]) -> TokenStream {
    while let [TokenTree::Punct(_), TokenTree::Group(_), rest @ ..] = trees {
        trees = rest;
    }
    let is_body = |tree: &&TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    trees
        .iter()
        .take_while(|tree| !is_body(tree))
        .cloned()
        .collect()
}

/// Returns the tokens, out of the invisible group that `$item:item` puts around them.
pub(crate) fn flattened(item: TokenStream) -> Vec<TokenTree> {
    let trees: Vec<TokenTree> = item.into_iter().collect();
    match trees.as_slice() {
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::None => {
            flattened(group.stream())
        }
        _ => trees,
    }
}

/// Writes the tokens on one line, spaced as people write types.
pub(crate) fn compact(tokens: impl ToTokens) -> String {
    let spaced = tokens.into_token_stream().to_string().replace('\n', " ");
    let mut text = String::with_capacity(spaced.len());
    let mut rest = spaced.as_str();
    while let Some(at) = rest.find(' ') {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        rest = after.trim_start();
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let keeps_space =
            text.ends_with([',', ';']) || text.ends_with("->") || rest.starts_with("->");
        let keeps_space = keeps_space
            || text.ends_with(['+', '=']) && !text.ends_with("..=")
            || rest.starts_with('+');
        if keeps_space || (text.ends_with(word) && rest.starts_with(|c: char| word(c) || c == '\''))
        {
            text.push(' ');
        }
    }
    text.push_str(rest);
    text
}

thread_local! {
    static SITE: Cell<Option<Span>> = const { Cell::new(None) };
}

/// Returns the span of generated tokens, which resolve apart from the user's: at the tool that is
/// being expanded, or at the macro's attribute.
pub(crate) fn site() -> Span {
    SITE.get().unwrap_or_else(Span::mixed_site)
}

/// Expands a tool at its place.
///
/// If its tokens were at the attribute, an expression that joins them with the user's would span
/// all tools before it. Then every change to one of those would have the compiler check this tool
/// again.
pub(crate) fn expanded_at<T>(place: Span, expand: impl FnOnce() -> T) -> T {
    struct Restore(Option<Span>);

    impl Drop for Restore {
        fn drop(&mut self) {
            SITE.set(self.0);
        }
    }

    let _restore = Restore(SITE.replace(Some(place)));
    expand()
}

/// Makes an identifier that no identifier of the user's can refer to.
pub(crate) fn generated(name: &str) -> Ident {
    Ident::new(name, site())
}

/// Returns a span that points at the user's code and resolves like generated code, so that lints
/// and names of the user's do not apply to it.
pub(crate) fn located(tokens: impl ToTokens) -> Span {
    let first = tokens.into_token_stream().into_iter().next();
    first.map_or_else(site, |tree| tree.span().resolved_at(Span::mixed_site()))
}

/// Moves the tokens of a path to another place.
///
/// An expression whose tokens are far apart has a span over all that is between them, and then the
/// compiler checks the expression again after every change there.
pub(crate) fn respanned(tokens: &TokenStream, place: Span) -> TokenStream {
    let each = tokens.clone().into_iter().map(|tree| {
        let span = place.resolved_at(tree.span());
        let mut moved = match tree {
            TokenTree::Group(group) => {
                Group::new(group.delimiter(), respanned(&group.stream(), place)).into()
            }
            other => other,
        };
        moved.set_span(span);
        moved
    });
    each.collect()
}

/// Returns the line of a token, counted from 1, or 0 outside of the compiler.
pub(crate) fn line(span: Span) -> u32 {
    if proc_macro_available() {
        u32::try_from(span.unwrap().line()).unwrap_or_default()
    } else {
        0
    }
}

fn proc_macro_available() -> bool {
    extern crate proc_macro;
    proc_macro::is_available()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_borrows_in_nested_tokens() {
        assert!(borrows(quote!(HashMap<&str, u8>)));
        assert!(borrows(quote!(Cow<'a, str>)));
        assert!(borrows(quote!(Vec<(u8, &T)>)));
        assert!(!borrows(quote!(Cow<'static, str>)));
        assert!(!borrows(quote!(HashMap<String, Vec<u8>>)));
    }

    #[test]
    fn replaces_elided_lifetimes_by_static() {
        assert_eq!(
            compact(with_static_lifetimes(
                quote!(Result<&str, Cow<'_, [&'static u8]>>)
            )),
            "Result<&'static str, Cow<'static, [&'static u8]>>"
        );
    }

    #[test]
    fn self_before_a_path_is_a_module() {
        assert!(mentions_self_value(quote!(limits(self.most))));
        assert!(mentions_self_value(quote!(most(&self))));
        assert!(!mentions_self_value(quote!(f(self::MOST))));
    }

    #[test]
    fn keeps_the_module_self_of_a_path() {
        let this = Ident::new("this", Span::call_site());
        assert_eq!(
            compact(without_self_value(
                quote!(self::most(self, [self.a])),
                &this
            )),
            "self::most(this, [this.a])"
        );
    }

    #[test]
    fn replaces_self_by_the_type() {
        let ty = quote!(Store<T>);
        assert_eq!(
            compact(without_self_type(
                quote!(vec![Self::NONE, f::<Self>()]),
                &ty
            )),
            "vec![<Store<T>>::NONE, f::<Store<T>>()]"
        );
    }
}
