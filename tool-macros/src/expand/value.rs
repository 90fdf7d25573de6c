//! Default and example values: as the struct stores them, as JSON, and as text.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Expr, Type};

use super::Unit;
use super::args::table_type;
use crate::attr::arg::Literal;
use crate::attr::ungrouped;
use crate::model::lend::{Lend, argument_of, ungrouped as ungrouped_type};
use crate::model::parameter::{Argument, Default};
use crate::tokens::located;

/// What `f2` becomes when the parameter is absent; the instance's default is left to the wrapper.
///
/// Expands to: `f2.unwrap_or_else(|| -> u32 { 30 })`, `fields.required(f2, 2)?`
pub(crate) fn or_default(unit: &Unit, argument: &Argument, found: &TokenStream, required: TokenStream) -> TokenStream {
    let made = match &argument.default {
        Default::None => return required,
        Default::Instance(_) => return found.clone(),
        Default::OfType => match argument.lend {
            Lend::Str | Lend::Cow => quote_spanned!(Span::mixed_site()=> __tool::Text::from("")),
            _ => return quote_spanned!(located(argument.ty)=> #found.unwrap_or_default()),
        },
        Default::Literal(expr, literal) => stored(argument, &expr.to_token_stream(), Some(literal)),
        Default::Computed(expr) => stored(argument, &unit.site.without_self(expr), None),
    };
    // With its type, so that a default of another one is blamed under itself.
    let made = match argument.lend {
        Lend::Owned(ty) | Lend::Ref(ty) => {
            let ty = unit.site.without_self(ty);
            quote_spanned!(Span::mixed_site()=> -> #ty { #made })
        }
        _ => made,
    };
    quote_spanned!(Span::mixed_site()=> #found.unwrap_or_else(|| #made))
}

/// The expression, made into what the struct stores.
pub(crate) fn stored(argument: &Argument, expr: &TokenStream, literal: Option<&Literal>) -> TokenStream {
    let site = Span::mixed_site();
    let text = quote_spanned!(site=> __tool::Text::from);
    match argument.lend {
        Lend::Str => quote_spanned!(site=> #text(#expr)),
        Lend::Cow => quote_spanned!(site=> #text(__String::from(#expr))),
        Lend::OptionStr | Lend::OptionCow if literal.is_some() => quote_spanned!(site=> __Some(#text(#expr))),
        Lend::OptionStr => quote_spanned!(site=> __Option::map(#expr, #text)),
        Lend::OptionCow => {
            quote_spanned!(site=> __Option::map(#expr, |text| #text(__String::from(text))))
        }
        Lend::StrSlice | Lend::StrVec => {
            quote_spanned!(site=> ::core::iter::Iterator::collect(::core::iter::Iterator::map(::core::iter::IntoIterator::into_iter(#expr), #text)))
        }
        Lend::Slice(_) => quote_spanned!(site=> __Vec::from(#expr)),
        Lend::OptionSlice(_) => quote_spanned!(site=> __Option::map(#expr, __Vec::from)),
        Lend::Owned(_) | Lend::Ref(_) | Lend::OptionRef(_) => owned(argument, expr, literal),
    }
}

/// A text literal becomes whatever text type the parameter has, and a literal for an `Option` its content.
fn owned(argument: &Argument, expr: &TokenStream, literal: Option<&Literal>) -> TokenStream {
    let site = Span::mixed_site();
    let converted = match literal {
        Some(Literal::Text(_)) => quote_spanned!(site=> ::core::convert::Into::into(#expr)),
        _ => expr.clone(),
    };
    let is_option = matches!(argument.lend, Lend::OptionRef(_)) || is_option(argument.ty);
    if literal.is_some() && is_option { quote_spanned!(site=> __Some(#converted)) } else { converted }
}

fn is_option(ty: &Type) -> bool {
    matches!(ungrouped_type(ty), Type::Path(path) if argument_of(&path.path, "Option").is_some())
}

/// The row's account of the default.
///
/// Expands to: `.default_literal("30")`, `.default_computed(|| __tool::default_json::<u32>(&(expr)))`,
/// `.default_from_instance()`
pub(crate) fn row(unit: &Unit, argument: &Argument) -> TokenStream {
    let site = Span::mixed_site();
    match &argument.default {
        Default::None => TokenStream::new(),
        Default::Instance(_) => quote_spanned!(site=> .default_from_instance()),
        Default::Literal(expr, literal) => {
            let text = literal_json(expr, literal);
            quote_spanned!(site=> .default_literal(#text))
        }
        Default::OfType => {
            let ty = table_type(unit.site, argument);
            let default = quote_spanned!(located(argument.ty)=> <#ty as ::core::default::Default>::default());
            quote_spanned!(site=> .default_computed(|| __tool::default_json::<#ty>(&#default)))
        }
        Default::Computed(expr) => {
            let value = json(unit, argument, &unit.site.without_self(expr));
            quote_spanned!(site=> .default_computed(|| #value))
        }
    }
}

/// An expression's JSON, by way of the parameter's own type.
///
/// Expands to: `__tool::default_json::<u32>(&(expr))`
pub(crate) fn json(unit: &Unit, argument: &Argument, expr: &TokenStream) -> TokenStream {
    let site = Span::mixed_site();
    let string = quote_spanned!(site=> __String::from);
    let value = match argument.lend {
        Lend::Str | Lend::Cow => quote_spanned!(site=> #string(#expr)),
        Lend::OptionStr | Lend::OptionCow => quote_spanned!(site=> __Option::map(#expr, #string)),
        Lend::StrSlice | Lend::StrVec => {
            quote_spanned!(site=> ::core::iter::Iterator::collect(::core::iter::Iterator::map(::core::iter::IntoIterator::into_iter(#expr), #string)))
        }
        _ => stored(argument, expr, None),
    };
    let (ty, located) = (table_type(unit.site, argument), located(argument.ty));
    quote_spanned!(located=> __tool::default_json::<#ty>(&(#value)))
}

/// Expands to: `.examples(&[|| __tool::default_json("Berlin")])`
pub(crate) fn examples(unit: &Unit, argument: &Argument) -> Option<TokenStream> {
    let examples = argument.examples.iter().map(|expr| {
        let value = if Literal::of(expr).is_some() {
            quote_spanned!(Span::mixed_site()=> __tool::default_json(&#expr))
        } else {
            json(unit, argument, &unit.site.without_self(expr))
        };
        quote_spanned!(Span::mixed_site()=> || #value)
    });
    (!argument.examples.is_empty()).then(|| quote!(.examples(&[#(#examples),*])))
}

/// The literal as JSON text.
pub(crate) fn literal_json(expr: &Expr, literal: &Literal) -> String {
    match literal {
        Literal::Bool(value) => value.to_string(),
        Literal::Text(text) => quoted(text),
        Literal::Number(_) => number_json(expr),
    }
}

/// The digits as they were written, without what JSON does not know: suffix, underscores, a bare point, a radix.
fn number_json(expr: &Expr) -> String {
    match ungrouped(expr) {
        Expr::Unary(unary) => format!("-{}", number_json(&unary.expr)),
        Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Int(int) => int.base10_digits().to_owned(),
            syn::Lit::Float(float) => {
                let digits = float.base10_digits();
                if digits.ends_with('.') { format!("{digits}0") } else { digits.replace(".e", ".0e") }
            }
            _ => String::new(),
        },
        _ => String::new(),
    }
}

fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for letter in text.chars() {
        match letter {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            control if u32::from(control) < 0x20 => json.extend(format!("\\u{:04x}", u32::from(control)).chars()),
            other => json.push(other),
        }
    }
    json.push('"');
    json
}
