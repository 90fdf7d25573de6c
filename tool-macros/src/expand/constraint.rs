//! Limits, as rows of the table and as checks on decoded values.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};

use super::own;
use crate::attr::arg::{self, Constraint};
use crate::attr::bounds::{Number, Range, Size};

/// The `__tool` function that checks it.
pub(crate) fn checker(kind: &Constraint) -> Ident {
    own(match kind {
        Constraint::Range(_) => "in_range",
        Constraint::Length(_) => "has_length",
        Constraint::Items(_) => "has_items",
        Constraint::Pattern(_) => "matches_pattern",
        Constraint::OneOf(_) => "is_one_of",
        Constraint::Format(_) => "has_format",
    })
}

/// Expands to: `__tool::Constraint::Length(Some(1), Some(80))`
pub(crate) fn expand(kind: &Constraint) -> TokenStream {
    let site = Span::mixed_site();
    match kind {
        Constraint::Range(range) => range_tokens(range),
        Constraint::Length(limits) => sized("Length", limits),
        Constraint::Items(limits) => sized("Items", limits),
        Constraint::Pattern(text) => quote_spanned!(site=> __tool::Constraint::Pattern(#text)),
        Constraint::Format(text) => quote_spanned!(site=> __tool::Constraint::Format(#text)),
        Constraint::OneOf(values) => {
            let values = values.iter().filter_map(arg::Literal::of).map(|value| literal(&value));
            quote_spanned!(site=> __tool::Constraint::OneOf(&[#(#values),*]))
        }
    }
}

fn literal(value: &arg::Literal) -> TokenStream {
    match value {
        arg::Literal::Text(text) => quote_spanned!(Span::mixed_site()=> __tool::Literal::Str(#text)),
        arg::Literal::Number(value) => {
            let value = number(*value);
            quote_spanned!(Span::mixed_site()=> __tool::Literal::Number(#value))
        }
        // `one_of` refuses it when it is read.
        arg::Literal::Bool(_) => TokenStream::new(),
    }
}

fn range_tokens(range: &Range) -> TokenStream {
    let (min, max) = (option(range.min.map(number)), option(range.max.map(number)));
    let exclusive = range.exclusive;
    quote_spanned! {Span::mixed_site()=>
        __tool::Constraint::Range(__tool::Range { min: #min, max: #max, exclusive: #exclusive })
    }
}

fn sized(name: &str, size: &Size) -> TokenStream {
    let bound = |bound: Option<u64>| option(bound.map(Literal::u64_unsuffixed).map(|literal| quote!(#literal)));
    let (variant, min, max) = (own(name), bound(size.min), bound(size.max));
    quote_spanned!(Span::mixed_site()=> __tool::Constraint::#variant(#min, #max))
}

fn number(number: Number) -> TokenStream {
    match number {
        Number::Int(value) => {
            let value = Literal::i128_unsuffixed(value);
            quote_spanned!(Span::mixed_site()=> __tool::Number::Int(#value))
        }
        Number::Float(value) => {
            let value = Literal::f64_unsuffixed(value);
            quote_spanned!(Span::mixed_site()=> __tool::Number::Float(#value))
        }
    }
}

fn option(value: Option<TokenStream>) -> TokenStream {
    value.map_or_else(|| own("__None").to_token_stream(), |value| quote_spanned!(Span::mixed_site()=> __Some(#value)))
}
