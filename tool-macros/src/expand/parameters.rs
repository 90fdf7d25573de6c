//! The table of parameters, from which the program assembles schemas, and the checks of their
//! limits.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::ExprPath;

use super::arguments::{derived_ident, parameter_trait, table_type};
use super::expansion::{ToolExpansion, text};
use super::scope::ItemScope;
use super::value;
use crate::attr::arg::{Constraint, Literal};
use crate::attr::bounds::{Bound, Number, Range, Size};
use crate::model::parameter::Argument;
use crate::model::passing::number_type;
use crate::tokens::{generated, located, site};

/// Expands to: `__Row::new::<u32>("limit", "How many").default_literal("10").constraints(&[..])`,
/// or for a type that is not well known
/// `<City as __tool::ToolParameter>::ROW.named("city", "Where")`
pub(crate) fn row(expansion: &ToolExpansion, index: usize, argument: &Argument) -> TokenStream {
    let name = &argument.name;
    let span = site();
    let place = located(argument.ty);
    if !argument.derived.is_empty() {
        let ty = derived_ident(expansion, index);
        return quote_spanned!(place=> <#ty as __tool::ToolParameter>::ROW.flat(#name));
    }
    let ty = parameter_trait(expansion.scope, argument);
    if argument.flatten.is_some() {
        return quote_spanned!(place=> #ty::ROW.flat(#name));
    }
    let description = argument.description.as_ref().map_or_else(
        || "".to_token_stream(),
        |model_text| text(model_text, expansion.scope),
    );
    let aliases = &argument.aliases;
    let aliases = (!aliases.is_empty()).then(|| quote!(.aliases(&[#(#aliases),*])));
    let limits = argument
        .constraints
        .iter()
        .map(|kind| limit(kind, argument, expansion.scope));
    let limits = (!argument.constraints.is_empty())
        .then(|| quote_spanned!(span=> .constraints(&[#(#limits),*])));
    let default = value::table_entry(expansion, argument);
    let examples = value::examples(expansion, argument);
    let row = if let Some(ty) = ty {
        quote_spanned!(place=> #ty::ROW.named(#name, #description))
    } else {
        let ty = table_type(expansion.scope, argument);
        quote_spanned!(place=> __Row::new::<#ty>(#name, #description))
    };
    quote_spanned!(place=> #row #aliases #default #limits #examples)
}

/// Returns the `__tool` function that checks the limit.
pub(crate) fn checker(kind: &Constraint) -> Ident {
    generated(match kind {
        Constraint::Range(_) => "in_range",
        Constraint::Length(_) => "has_length",
        Constraint::Items(_) => "has_items",
        Constraint::Pattern(_) => "matches_pattern",
        Constraint::OneOf(_) => "is_one_of",
        Constraint::Format(_) => "has_format",
    })
}

/// Expands to: `__Limit::Length(Some(1), Some(80))`
fn limit(kind: &Constraint, argument: &Argument, scope: &ItemScope) -> TokenStream {
    let span = site();
    match kind {
        Constraint::Range(range) => range_tokens(range, argument, scope),
        Constraint::Length(limits) => sized("Length", limits, scope),
        Constraint::Items(limits) => sized("Items", limits, scope),
        Constraint::Pattern(text) => quote_spanned!(span=> __Limit::Pattern(#text)),
        Constraint::Format(text) => quote_spanned!(span=> __Limit::Format(#text)),
        Constraint::OneOf(values) => {
            let values = values
                .iter()
                .filter_map(Literal::of)
                .map(|value| literal(&value));
            quote_spanned!(span=> __Limit::OneOf(&[#(#values),*]))
        }
    }
}

fn literal(value: &Literal) -> TokenStream {
    match value {
        Literal::Text(text) => quote_spanned!(site()=> __tool::Literal::Str(#text)),
        Literal::Number(value) => {
            let value = number(*value);
            quote_spanned!(site()=> __tool::Literal::Number(#value))
        }
        // The option was refused when it was parsed.
        Literal::Bool(_) => TokenStream::new(),
    }
}

/// Expands to: `__Limit::integers(__Some(5), __Some(480), false)`, or `__Limit::range(..)` where a
/// bound is a float
fn range_tokens(range: &Range, argument: &Argument, scope: &ItemScope) -> TokenStream {
    let span = site();
    let exclusive = range.exclusive;
    let ty = number_type(argument.ty).map(generated);
    let is_float = ty.as_ref().is_some_and(|ty| ty == "f32" || ty == "f64");
    let whole = |bound: &Option<Bound<Number>>| match bound {
        None => Some(None),
        Some(Bound::Number(Number::Int(value))) => Some(Some(
            proc_macro2::Literal::i128_unsuffixed(*value).into_token_stream(),
        )),
        Some(Bound::Const(path)) if !is_float => {
            Some(Some(constant(path, ty.as_ref(), "i128", scope)))
        }
        Some(_) => None,
    };
    if let (Some(min), Some(max)) = (whole(&range.min), whole(&range.max)) {
        let min = option(min);
        let max = option(max);
        return quote_spanned!(span=> __Limit::integers(#min, #max, #exclusive));
    }
    let any = |bound: &Option<Bound<Number>>| {
        option(bound.as_ref().map(|bound| match bound {
            Bound::Number(value) => number(*value),
            Bound::Const(path) => {
                let value = constant(path, ty.as_ref(), "f64", scope);
                quote_spanned!(span=> __tool::Number::Float(#value))
            }
        }))
    };
    let min = any(&range.min);
    let max = any(&range.max);
    quote_spanned!(span=> __Limit::range(#min, #max, #exclusive))
}

/// Converts a constant of the parameter's type. rustc reports one of another type, and one that is
/// beyond the target.
///
/// Expands to: `{ const __BOUND: u32 = MAX; __BOUND as i128 }`, or for a `u128`
/// `{ const __BOUND: u128 = MAX; const __WHOLE: i128 = __Limit::wide(__BOUND); __WHOLE }`
fn constant(path: &ExprPath, ty: Option<&Ident>, target: &str, scope: &ItemScope) -> TokenStream {
    let place = located(path);
    let path = scope.without_self(path);
    if target == "i128" && ty.is_some_and(|ty| ty == "u128") {
        let wide = quote_spanned!(place=> __Limit::wide(__BOUND));
        return quote_spanned!(site()=> { const __BOUND: #ty = #path; const __WHOLE: i128 = #wide; __WHOLE });
    }
    let target = generated(target);
    quote_spanned!(site()=> { const __BOUND: #ty = #path; __BOUND as #target })
}

fn sized(name: &str, size: &Size, scope: &ItemScope) -> TokenStream {
    let usize = generated("usize");
    let bound = |bound: &Option<Bound<u64>>, less: Option<TokenStream>| {
        option(bound.as_ref().map(|bound| match bound {
            Bound::Number(count) => {
                proc_macro2::Literal::u64_unsuffixed(*count).into_token_stream()
            }
            Bound::Const(path) => {
                let value = constant(path, Some(&usize), "u64", scope);
                quote_spanned!(site()=> #value #less)
            }
        }))
    };
    let less = size.exclusive.then(|| quote!(-1));
    let variant = generated(name);
    let min = bound(&size.min, None);
    let max = bound(&size.max, less);
    quote_spanned!(site()=> __Limit::#variant(#min, #max))
}

fn number(number: Number) -> TokenStream {
    match number {
        Number::Int(value) => {
            let value = proc_macro2::Literal::i128_unsuffixed(value);
            quote_spanned!(site()=> __tool::Number::Int(#value))
        }
        Number::Float(value) => {
            let value = proc_macro2::Literal::f64_unsuffixed(value);
            quote_spanned!(site()=> __tool::Number::Float(#value))
        }
    }
}

fn option(value: Option<TokenStream>) -> TokenStream {
    value.map_or_else(
        || generated("__None").to_token_stream(),
        |value| quote_spanned!(site()=> __Some(#value)),
    )
}
