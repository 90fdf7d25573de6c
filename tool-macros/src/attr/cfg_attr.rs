//! `#[cfg_attr(PREDICATE, attributes)]`.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Meta, Token};

use super::grammar::is_path_to;

/// A `cfg_attr`, taken apart.
pub(crate) struct Conditional {
    pub(crate) predicate: TokenStream,
    pub(crate) metas: Vec<Meta>,
}

impl Conditional {
    /// Takes an attribute apart, or returns `None` if it is another one or does not parse.
    pub(crate) fn of(meta: &Meta) -> Option<Self> {
        let Meta::List(list) = meta else { return None };
        if !list.path.is_ident("cfg_attr") {
            return None;
        }
        let mut trees = list.tokens.clone().into_iter();
        let is_comma =
            |tree: &TokenTree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ',');
        let predicate = trees.by_ref().take_while(|tree| !is_comma(tree)).collect();
        let metas = Punctuated::<Meta, Token![,]>::parse_terminated
            .parse2(trees.collect())
            .ok()?;
        Some(Self {
            predicate,
            metas: metas.into_iter().collect(),
        })
    }
}

/// Returns whether a `cfg_attr` adds the attribute `name`, by the last segment of its path. The
/// arguments of other attributes may have the name, too.
pub(crate) fn adds(meta: &Meta, name: &str) -> bool {
    let Some(conditional) = Conditional::of(meta) else {
        return false;
    };
    conditional
        .metas
        .iter()
        .any(|inner| is_path_to(inner.path(), name) || adds(inner, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn finds_the_attributes_that_are_added() {
        assert!(adds(&parse_quote!(cfg_attr(unix, inline, tool)), "tool"));
        assert!(adds(
            &parse_quote!(cfg_attr(unix, tool_core::tool(confirm))),
            "tool"
        ));
        assert!(adds(
            &parse_quote!(cfg_attr(unix, cfg_attr(test, tool))),
            "tool"
        ));
    }

    #[test]
    fn passes_over_arguments_and_predicates() {
        assert!(!adds(&parse_quote!(cfg_attr(tool, inline)), "tool"));
        assert!(!adds(
            &parse_quote!(cfg_attr(unix, instrument(skip(tool)))),
            "tool"
        ));
        assert!(!adds(&parse_quote!(cfg(tool)), "tool"));
    }
}
