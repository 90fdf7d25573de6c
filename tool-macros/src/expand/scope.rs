//! The scope of generated items, which are outside the user's `impl` and repeat its generics.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, GenericParam, Generics, Path};

use crate::input::{FunctionItem, ImplBlock, ImplMember};
use crate::model::passing::ungrouped_type;
use crate::tokens::{mentions, respanned, site, without_self_type};

/// The type, generics and paths that generated items use.
pub(crate) struct ItemScope<'a> {
    /// The path to tool-core.
    pub(crate) krate: TokenStream,
    /// The user wrote the path, and the compiler reports a wrong one there.
    is_renamed: bool,
    /// The type of the block, or `()` for a free function.
    pub(crate) self_ty: TokenStream,
    generics: Option<&'a Generics>,
    /// A wrapper calls a deprecated method. Only then is the lint allowed: `allow` is an error
    /// under `forbid`.
    calls_deprecated: bool,
}

impl<'a> ItemScope<'a> {
    pub(crate) fn of_block(block: &'a ImplBlock, krate: Option<&Path>) -> Self {
        let self_ty = ungrouped_type(&block.parsed.self_ty).to_token_stream();
        Self {
            krate: krate_path(krate),
            is_renamed: krate.is_some(),
            self_ty,
            generics: Some(&block.parsed.generics),
            calls_deprecated: deprecates(block),
        }
    }

    pub(crate) fn free(krate: Option<&Path>, function: &FunctionItem) -> Self {
        let calls_deprecated = is_deprecated(&function.attrs);
        let is_renamed = krate.is_some();
        Self {
            krate: krate_path(krate),
            is_renamed,
            self_ty: quote!(()),
            generics: None,
            calls_deprecated,
        }
    }

    /// Returns the path to tool-core at the place of generated tokens.
    pub(crate) fn krate_here(&self) -> TokenStream {
        if self.is_renamed {
            self.krate.clone()
        } else {
            respanned(&self.krate, site())
        }
    }

    pub(crate) fn is_free(&self) -> bool {
        self.generics.is_none()
    }

    pub(crate) fn is_generic(&self) -> bool {
        self.params().next().is_some()
    }

    fn params(&self) -> impl Iterator<Item = &'a GenericParam> {
        self.generics
            .into_iter()
            .flat_map(|generics| &generics.params)
    }

    /// Writes the generics of a generated item: `T: Store, const N: usize,`.
    pub(crate) fn declared(&self) -> TokenStream {
        let params = self.params().map(|param| match param {
            GenericParam::Type(param) => {
                let ident = &param.ident;
                let colon = &param.colon_token;
                let bounds = self.without_self(&param.bounds);
                quote!(#ident #colon #bounds)
            }
            GenericParam::Const(param) => {
                let ident = &param.ident;
                let ty = &param.ty;
                quote!(const #ident: #ty)
            }
            GenericParam::Lifetime(param) => param.to_token_stream(),
        });
        quote!(#(#params,)*)
    }

    /// Writes the generic arguments: `T, N,`.
    pub(crate) fn applied(&self) -> TokenStream {
        let names = self.names();
        quote!(#(#names,)*)
    }

    /// Writes the type parameters, for `PhantomData`.
    pub(crate) fn type_names(&self) -> TokenStream {
        let names = self.params().filter_map(|param| match param {
            GenericParam::Type(param) => Some(&param.ident),
            _ => None,
        });
        quote!(#(#names,)*)
    }

    fn names(&self) -> impl Iterator<Item = TokenStream> {
        self.params().map(|param| match param {
            GenericParam::Type(param) => param.ident.to_token_stream(),
            GenericParam::Const(param) => param.ident.to_token_stream(),
            GenericParam::Lifetime(param) => param.lifetime.to_token_stream(),
        })
    }

    pub(crate) fn where_clause(&self) -> TokenStream {
        let clause = self
            .generics
            .and_then(|generics| generics.where_clause.as_ref());
        clause
            .map(|clause| self.without_self(clause))
            .unwrap_or_default()
    }

    /// Returns whether the tokens mention the generics of the block.
    pub(crate) fn is_mentioned_in(&self, tokens: &TokenStream) -> bool {
        self.names().any(|name| mentions(tokens, &name.to_string()))
    }

    pub(crate) fn without_self(&self, tokens: impl ToTokens) -> TokenStream {
        without_self_type(tokens, &self.self_ty)
    }

    /// Writes the type before `::method`, at the place of the method: `GoogleCalendar`, or
    /// `<Store<T>>`.
    pub(crate) fn self_path(&self, place: Span) -> TokenStream {
        let ty = respanned(&self.self_ty, place);
        let is_plain = ty
            .clone()
            .into_iter()
            .all(|tree| matches!(&tree, proc_macro2::TokenTree::Ident(_)));
        if is_plain { ty } else { quote!(<#ty>) }
    }

    /// Expands to:
    /// `const _: () = { use ::tool_core::__private::{self as __tool, prelude::*}; .. };`
    ///
    /// The names of the language's prelude are imported under other names, as the user's module may
    /// define them differently. Full paths would make the generated code longer.
    pub(crate) fn enclose(&self, cfgs: &TokenStream, items: &TokenStream) -> TokenStream {
        let krate = &self.krate;
        let deprecated = self.calls_deprecated.then(|| quote!(deprecated,));
        quote_spanned! {Span::mixed_site()=>
            #cfgs
            #[allow(#deprecated clippy::all, clippy::nursery, clippy::pedantic)]
            const _: () = {
                use #krate::__private::{self as __tool, prelude::*};
                #items
            };
        }
    }
}

/// Returns whether the block or one of its methods is deprecated.
fn deprecates(block: &ImplBlock) -> bool {
    let mut methods = block.members.iter().filter_map(|member| match member {
        ImplMember::FunctionItem(function) => Some(function),
        _ => None,
    });
    is_deprecated(&block.parsed.attrs) || methods.any(|function| is_deprecated(&function.attrs))
}

fn is_deprecated(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("deprecated"))
}

pub(crate) fn krate_path(krate: Option<&Path>) -> TokenStream {
    krate.map_or_else(
        || quote_spanned!(Span::mixed_site()=> ::tool_core),
        ToTokens::to_token_stream,
    )
}
