//! `#[derive(ToolError)]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Generics, Ident, Path};

use super::own;
use crate::attr::tool_error::ToolErrorOptions;
use crate::tokens::located;

/// The type, and what each of its variants becomes.
pub(crate) struct ErrorType<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) krate: Option<&'a Path>,
    pub(crate) shape: Shape<'a>,
}

pub(crate) enum Shape<'a> {
    Struct(ToolErrorOptions),
    Enum(Vec<(&'a Ident, ToolErrorOptions)>),
}

/// Expands to:
///
/// ```text
/// impl __tool::IntoToolError for CalendarError where Self: Display {
///     fn into_tool_error(self) -> __tool::ToolError {
///         let message = ToString::to_string(&self);
///         match self { Self::Busy { .. } => __tool::ToolError::conflict(message).retryable(true) }
///     }
/// }
/// ```
pub(crate) fn expand(error: &ErrorType) -> TokenStream {
    let (message, ident) = (own("message"), error.ident);
    let body = match &error.shape {
        Shape::Struct(options) => constructed(options),
        Shape::Enum(variants) => {
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

/// The impl around the body; also of the stub where the derive has mistakes.
fn implementation(error: &ErrorType, body: &TokenStream, place: Span) -> TokenStream {
    let (ident, site) = (error.ident, Span::mixed_site());
    let (generics, applied, clause) = error.generics.split_for_impl();
    let predicates = clause.map(|clause| &clause.predicates).into_iter().flatten();
    let display = quote_spanned!(place=> Self: ::core::fmt::Display);
    let krate = error.krate.map_or_else(|| quote_spanned!(site=> ::tool_core), |path| quote!(#path));
    quote_spanned! {site=>
        const _: () = {
            use #krate::__private as __tool;
            #[automatically_derived]
            impl #generics __tool::IntoToolError for #ident #applied where #(#predicates,)* #display {
                fn into_tool_error(self) -> __tool::ToolError { #body }
            }
        };
    }
}

/// Expands to: `__tool::ToolError::rate_limit(message).retryable(true)`
fn constructed(options: &ToolErrorOptions) -> TokenStream {
    let (kind, message) = (own(options.kind.unwrap_or("permanent")), own("message"));
    let retryable = options.retryable.map(|set| quote!(.retryable(#set)));
    let partial = options.partial_side_effects.map(|set| quote!(.partial_side_effects(#set)));
    quote_spanned!(Span::mixed_site()=> __tool::ToolError::#kind(#message) #retryable #partial)
}
