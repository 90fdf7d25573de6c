//! Defaults and examples: as stored values, as JSON, and as JSON text.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Expr, Type};

use super::arguments::table_type;
use super::expansion::ToolExpansion;
use crate::attr::arg::Literal;
use crate::attr::grammar::ungrouped;
use crate::model::parameter::{Argument, DefaultValue};
use crate::model::passing::{ParamPassing, PassingForm, argument_of, ungrouped_type};
use crate::model::type_names::TypeNames;
use crate::tokens::{generated, located, site};

/// Writes the value of a field, with the default of an absent parameter. The wrapper adds defaults
/// of the instance.
///
/// Expands to: `f2.unwrap_or_else(|| -> u32 { 30 })`, `fields.required(f2, 2)?`
pub(crate) fn or_default(
    expansion: &ToolExpansion,
    argument: &Argument,
    found: &TokenStream,
    required: TokenStream,
) -> TokenStream {
    let made = match &argument.default {
        DefaultValue::None => return required,
        DefaultValue::Instance(_) => return found.clone(),
        DefaultValue::OfType => match argument.passing {
            ParamPassing {
                form: PassingForm::Str | PassingForm::Cow,
                optional: false,
            } => {
                quote_spanned!(site()=> __tool::Text::from(""))
            }
            passing if passing.form.borrows_text() => {
                return quote_spanned!(site()=> #found.unwrap_or_default());
            }
            _ => {
                let made = default_of_type(expansion, argument);
                return quote_spanned!(site()=> #found.unwrap_or_else(#made));
            }
        },
        DefaultValue::Literal(expr, literal) => {
            stored(argument, &expr.to_token_stream(), Some(literal))
        }
        DefaultValue::Computed(expr) => stored(argument, &expansion.scope.without_self(expr), None),
    };
    // The annotation makes rustc report a default of another type under the default.
    let made = match argument.passing {
        ParamPassing {
            form: PassingForm::Owned(ty) | PassingForm::Ref(ty),
            optional: false,
        } => {
            let ty = expansion.scope.without_self(ty);
            quote_spanned!(site()=> -> #ty { #made })
        }
        _ => made,
    };
    quote_spanned!(site()=> #found.unwrap_or_else(|| #made))
}

/// Expands to: `|| <u32 as Default>::default()`
fn default_of_type(expansion: &ToolExpansion, argument: &Argument) -> TokenStream {
    let ty = table_type(expansion.scope, argument);
    // A call, as the compiler points at the type then, wherever the default is made.
    quote_spanned!(located(argument.ty)=> || <#ty as ::core::default::Default>::default())
}

/// Converts the expression to the stored type.
fn stored(argument: &Argument, expr: &TokenStream, literal: Option<&Literal>) -> TokenStream {
    let span = site();
    match argument.passing.form {
        PassingForm::Owned(_) | PassingForm::Ref(_) => owned(argument, expr, literal),
        PassingForm::Str | PassingForm::StrSlice | PassingForm::StrVec => converted(
            argument,
            expr,
            literal,
            &|text| quote_spanned!(span=> __tool::Text::from(#text)),
        ),
        PassingForm::Cow => converted(
            argument,
            expr,
            literal,
            &|text| quote_spanned!(span=> __tool::Text::from(__String::from(#text))),
        ),
        PassingForm::Slice(_) => converted(
            argument,
            expr,
            literal,
            &|list| quote_spanned!(span=> __Vec::from(#list)),
        ),
    }
}

/// Applies the conversion to the value in an `Option`, to each text of a list, or to the expression
/// itself.
fn converted(
    argument: &Argument,
    expr: &TokenStream,
    literal: Option<&Literal>,
    convert: &dyn Fn(&TokenStream) -> TokenStream,
) -> TokenStream {
    let span = site();
    let each = generated("__value").to_token_stream();
    let on_each = convert(&each);
    match argument.passing {
        ParamPassing {
            form: PassingForm::StrSlice | PassingForm::StrVec,
            ..
        } => quote_spanned! {span=>
            ::core::iter::Iterator::collect(
                ::core::iter::Iterator::map(::core::iter::IntoIterator::into_iter(#expr), |#each| #on_each)
            )
        },
        ParamPassing { optional: true, .. } if literal.is_none() => {
            quote_spanned!(span=> __Option::map(#expr, |#each| #on_each))
        }
        ParamPassing { optional, .. } => {
            let value = convert(expr);
            if optional {
                quote_spanned!(span=> __Some(#value))
            } else {
                value
            }
        }
    }
}

/// Converts a string literal to the parameter's own text type, and a literal for an `Option` to its
/// content.
fn owned(argument: &Argument, expr: &TokenStream, literal: Option<&Literal>) -> TokenStream {
    let span = site();
    let converted = match literal {
        Some(Literal::Text(_)) => quote_spanned!(span=> ::core::convert::Into::into(#expr)),
        _ => expr.clone(),
    };
    let is_option = argument.passing.optional || is_option(argument.ty);
    if literal.is_some() && is_option {
        quote_spanned!(span=> __Some(#converted))
    } else {
        converted
    }
}

fn is_option(ty: &Type) -> bool {
    matches!(ungrouped_type(ty), Type::Path(path) if argument_of(&path.path, "Option").is_some())
}

/// Writes the default in the table of parameters.
///
/// Expands to: `.default_literal("30")`,
/// `.default_computed(|| __tool::to_json(&(|| -> u32 { expr })()))`, `.default_from_instance()`
pub(crate) fn table_entry(expansion: &ToolExpansion, argument: &Argument) -> TokenStream {
    let span = site();
    match &argument.default {
        DefaultValue::None => TokenStream::new(),
        DefaultValue::Instance(_) => quote_spanned!(span=> .default_from_instance()),
        DefaultValue::Literal(expr, literal) => {
            let text = literal_json(expr, literal);
            quote_spanned!(span=> .default_literal(#text))
        }
        DefaultValue::OfType => {
            let value = made_json(expansion, argument, &default_of_type(expansion, argument));
            quote_spanned!(span=> .default_computed(|| #value))
        }
        DefaultValue::Computed(expr) => {
            let value = json(expansion, argument, &expansion.scope.without_self(expr));
            quote_spanned!(span=> .default_computed(|| #value))
        }
    }
}

/// Writes the conversion of an expression to JSON, by the parameter's own type.
///
/// Expands to: `__tool::to_json(&(|| -> u32 { expr })())`
pub(crate) fn json(
    expansion: &ToolExpansion,
    argument: &Argument,
    expr: &TokenStream,
) -> TokenStream {
    let value = if argument.passing.form.borrows_text() {
        converted(
            argument,
            expr,
            None,
            &|text| quote_spanned!(site()=> __String::from(#text)),
        )
    } else {
        stored(argument, expr, None)
    };
    let ty = table_type(expansion.scope, argument);
    made_json(
        expansion,
        argument,
        &quote_spanned!(site()=> || -> #ty { #value }),
    )
}

/// Writes the conversion of what a closure makes. The wrapper has an equal closure, so that the
/// compiler reports a mistake in it once.
///
/// Expands to: `__tool::to_json(&(make)())`, or for a type that is not well known
/// `__tool::default_json!(City, make)`
fn made_json(expansion: &ToolExpansion, argument: &Argument, make: &TokenStream) -> TokenStream {
    let place = located(argument.ty);
    if argument.names == TypeNames::Plain {
        return quote_spanned!(place=> __tool::to_json(&(#make)()));
    }
    let ty = table_type(expansion.scope, argument);
    quote_spanned!(place=> __tool::default_json!(#ty, #make))
}

/// Writes the examples. A literal is JSON text, because in Rust a number without a suffix would be
/// an `i32`.
///
/// Expands to: `.examples(&[|| __tool::literal_value("\"Berlin\"")])`
pub(crate) fn examples(expansion: &ToolExpansion, argument: &Argument) -> Option<TokenStream> {
    let examples = argument.examples.iter().map(|expr| {
        let value = match Literal::of(expr) {
            Some(literal) => {
                let text = literal_json(expr, &literal);
                quote_spanned!(site()=> __tool::literal_value(#text))
            }
            None => json(expansion, argument, &expansion.scope.without_self(expr)),
        };
        quote_spanned!(site()=> || #value)
    });
    (!argument.examples.is_empty()).then(|| quote!(.examples(&[#(#examples),*])))
}

/// Converts a literal to JSON text.
pub(crate) fn literal_json(expr: &Expr, literal: &Literal) -> String {
    match literal {
        Literal::Bool(value) => value.to_string(),
        Literal::Text(text) => quoted(text),
        Literal::Number(_) => number_json(expr),
    }
}

/// Converts a number to JSON. Suffixes, underscores, radixes and a trailing point are not JSON.
fn number_json(expr: &Expr) -> String {
    match ungrouped(expr) {
        Expr::Unary(unary) => format!("-{}", number_json(&unary.expr)),
        Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Int(int) => int.base10_digits().to_owned(),
            syn::Lit::Float(float) => {
                let digits = float.base10_digits();
                if digits.ends_with('.') {
                    format!("{digits}0")
                } else {
                    digits.replace(".e", ".0e")
                }
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
            control if u32::from(control) < 0x20 => {
                json.extend(format!("\\u{:04x}", u32::from(control)).chars());
            }
            other => json.push(other),
        }
    }
    json.push('"');
    json
}
