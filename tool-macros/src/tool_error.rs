//! `#[derive(ToolError)]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Attribute, Fields, Generics, Ident, Item, LitBool, LitStr, Path};

use crate::attr::grammar::{TOOL_ERROR, choice, crate_path, flag, has_value, is, value};
use crate::errors::Errors;
use crate::tokens::{generated, located};

const KINDS: &[&str] = &[
    "transient",
    "permanent",
    "conflict",
    "auth",
    "rate_limit",
    "session_inactive",
    "internal",
];

/// The options of `#[tool_error(..)]` on a type or a variant.
#[derive(Clone, Default)]
struct ToolErrorOptions {
    kind: Option<&'static str>,
    retryable: Option<bool>,
    partial_side_effects: Option<bool>,
    krate: Option<Path>,
}

impl ToolErrorOptions {
    fn parse(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut seen = Vec::new();
        for attr in attrs.iter().filter(|attr| is(attr, "tool_error")) {
            TOOL_ERROR.read(attr, &mut seen, errors, |key, meta| {
                match key {
                    "kind" => {
                        let kind: LitStr = value(meta, "\"rate_limit\"")?;
                        options.kind = Some(choice("kind", &kind, KINDS)?);
                    }
                    "crate" => options.krate = Some(crate_path(meta)?),
                    _ => {
                        let set = if has_value(meta) {
                            value::<LitBool>(meta, "false")?.value
                        } else {
                            flag(meta).map(|()| true)?
                        };
                        if key == "retryable" {
                            options.retryable = Some(set);
                        } else {
                            options.partial_side_effects = Some(set);
                        }
                    }
                }
                Ok(())
            });
        }
        options
    }

    /// Completes the options of a variant with those of its type.
    fn or(&self, of_type: &Self) -> Self {
        Self {
            kind: self.kind.or(of_type.kind),
            retryable: self.retryable.or(of_type.retryable),
            partial_side_effects: self.partial_side_effects.or(of_type.partial_side_effects),
            krate: of_type.krate.clone(),
        }
    }
}

/// Expands `#[derive(ToolError)]`.
pub(crate) fn derive(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(item) = errors.take(syn::parse2::<Item>(item)) else {
        return errors.into_tokens().unwrap_or_default();
    };
    let error = match &item {
        Item::Struct(item) => {
            let options = ToolErrorOptions::parse(&item.attrs, &mut errors);
            refuse_on_fields(&item.fields, &mut errors);
            let ident = &item.ident;
            let generics = &item.generics;
            let krate = options.krate.clone();
            Some(ErrorItem {
                ident,
                generics,
                krate,
                shape: ErrorShape::Struct(options),
            })
        }
        Item::Enum(item) => {
            let of_type = ToolErrorOptions::parse(&item.attrs, &mut errors);
            let variants = item.variants.iter().map(|variant| {
                refuse_on_fields(&variant.fields, &mut errors);
                let of_variant = ToolErrorOptions::parse(&variant.attrs, &mut errors);
                if let Some(path) = &of_variant.krate {
                    errors.report(
                        path,
                        "`crate` is an option of the type\nhelp: move it above the `enum`",
                    );
                }
                (&variant.ident, of_variant.or(&of_type))
            });
            let shape = ErrorShape::Enum(variants.collect());
            Some(ErrorItem {
                ident: &item.ident,
                generics: &item.generics,
                krate: of_type.krate,
                shape,
            })
        }
        other => {
            let message = "`ToolError` can only be derived for structs and enums\nhelp: wrap the type in a struct";
            errors.report(other, message);
            None
        }
    };
    // The impl is written also if there are errors, so that the tools which return the type
    // compile.
    let implementation = error.map(|error| expand(&error));
    let errors = errors.into_tokens();
    quote!(#errors #implementation)
}

fn refuse_on_fields(fields: &Fields, errors: &mut Errors) {
    for attr in fields
        .iter()
        .flat_map(|field| &field.attrs)
        .filter(|attr| is(attr, "tool_error"))
    {
        let message = "`#[tool_error]` can only be applied to types and variants\nhelp: move it above the variant";
        errors.report(attr, message);
    }
}

/// The type of an error, with the options of its variants.
struct ErrorItem<'a> {
    ident: &'a Ident,
    generics: &'a Generics,
    krate: Option<Path>,
    shape: ErrorShape<'a>,
}

/// The options of a struct, or of each variant of an enum.
enum ErrorShape<'a> {
    Struct(ToolErrorOptions),
    Enum(Vec<(&'a Ident, ToolErrorOptions)>),
}

/// Expands to:
///
/// ```text
/// impl __tool::IntoToolError for CalendarError where Self: Display {
///     fn into_tool_error(self) -> __tool::ToolError {
///         let __message = ToString::to_string(&self);
///         match self { Self::Busy { .. } => __tool::ToolError::conflict(__message).retryable(true) }
///     }
/// }
/// ```
fn expand(error: &ErrorItem) -> TokenStream {
    let message = generated("__message");
    let ident = error.ident;
    let body = match &error.shape {
        ErrorShape::Struct(options) => constructed(options),
        ErrorShape::Enum(variants) => {
            let arms = variants.iter().map(|(variant, options)| {
                let made = constructed(options);
                quote_spanned!(Span::mixed_site()=> Self::#variant { .. } => #made)
            });
            quote_spanned!(Span::mixed_site()=> match self { #(#arms,)* })
        }
    };
    let text = quote_spanned!(Span::mixed_site()=> let #message = ::std::string::ToString::to_string(&self););
    implementation(error, &quote!(#text #body), located(ident))
}

/// Writes the impl around the body.
fn implementation(error: &ErrorItem, body: &TokenStream, place: Span) -> TokenStream {
    let ident = error.ident;
    let span = Span::mixed_site();
    let (generics, applied, clause) = error.generics.split_for_impl();
    let predicates = clause
        .map(|clause| &clause.predicates)
        .into_iter()
        .flatten();
    let display = quote_spanned!(place=> Self: ::core::fmt::Display);
    let krate = error
        .krate
        .as_ref()
        .map_or_else(|| quote_spanned!(span=> ::tool_core), |path| quote!(#path));
    quote_spanned! {span=>
        const _: () = {
            use #krate::__private as __tool;
            use __tool::locals::*;
            #[automatically_derived]
            impl #generics __tool::IntoToolError for #ident #applied where #(#predicates,)* #display {
                fn into_tool_error(self) -> __tool::ToolError { #body }
            }
        };
    }
}

/// Expands to: `__tool::ToolError::rate_limit(__message).retryable(true)`
fn constructed(options: &ToolErrorOptions) -> TokenStream {
    let kind = generated(options.kind.unwrap_or("permanent"));
    let message = generated("__message");
    let retryable = options.retryable.map(|set| quote!(.retryable(#set)));
    let partial = options
        .partial_side_effects
        .map(|set| quote!(.partial_side_effects(#set)));
    quote_spanned!(Span::mixed_site()=> __tool::ToolError::#kind(#message) #retryable #partial)
}
