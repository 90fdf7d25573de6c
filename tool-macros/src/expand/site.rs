//! Where generated items stand: outside the user's `impl`, with its generics said again.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, GenericParam, Generics, Path};

use crate::input::{Block, Function, Member};
use crate::model::lend::ungrouped;
use crate::tokens::{mentions, without_self_type};

pub(crate) struct Site<'a> {
    /// The path to tool-core.
    pub(crate) krate: TokenStream,
    /// `GoogleCalendar`, or `()` for a free fn.
    pub(crate) self_ty: TokenStream,
    generics: Option<&'a Generics>,
    /// Whether a wrapper calls what the user deprecated. Said only then: where a lint is forbidden, `allow` is an error.
    calls_deprecated: bool,
}

impl<'a> Site<'a> {
    pub(crate) fn of_block(block: &'a Block, krate: Option<&Path>) -> Self {
        let self_ty = ungrouped(&block.parsed.self_ty).to_token_stream();
        Self {
            krate: krate_path(krate),
            self_ty,
            generics: Some(&block.parsed.generics),
            calls_deprecated: deprecates(block),
        }
    }

    pub(crate) fn free(krate: Option<&Path>, function: &Function) -> Self {
        let calls_deprecated = is_deprecated(&function.attrs);
        Self { krate: krate_path(krate), self_ty: quote!(()), generics: None, calls_deprecated }
    }

    pub(crate) fn is_free(&self) -> bool {
        self.generics.is_none()
    }

    pub(crate) fn is_generic(&self) -> bool {
        self.params().next().is_some()
    }

    fn params(&self) -> impl Iterator<Item = &'a GenericParam> {
        self.generics.into_iter().flat_map(|generics| &generics.params)
    }

    /// `T: Store, const N: usize`, each followed by a comma, for a generated item's own list.
    pub(crate) fn declared(&self) -> TokenStream {
        let params = self.params().map(|param| match param {
            GenericParam::Type(param) => {
                let (ident, colon, bounds) = (&param.ident, &param.colon_token, self.without_self(&param.bounds));
                quote!(#ident #colon #bounds)
            }
            GenericParam::Const(param) => {
                let (ident, ty) = (&param.ident, &param.ty);
                quote!(const #ident: #ty)
            }
            GenericParam::Lifetime(param) => param.to_token_stream(),
        });
        quote!(#(#params,)*)
    }

    /// `T, N`, each followed by a comma.
    pub(crate) fn applied(&self) -> TokenStream {
        let names = self.names();
        quote!(#(#names,)*)
    }

    /// The type parameters alone, for `PhantomData`.
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
        let clause = self.generics.and_then(|generics| generics.where_clause.as_ref());
        clause.map(|clause| self.without_self(clause)).unwrap_or_default()
    }

    /// Whether the tokens speak of the block's generics.
    pub(crate) fn is_mentioned_in(&self, tokens: &TokenStream) -> bool {
        self.names().any(|name| mentions(tokens, &name.to_string()))
    }

    pub(crate) fn without_self(&self, tokens: impl ToTokens) -> TokenStream {
        without_self_type(tokens, &self.self_ty)
    }

    /// `GoogleCalendar` where that can stand before `::method`, else `<Store<T>>`.
    pub(crate) fn self_path(&self) -> TokenStream {
        let ty = &self.self_ty;
        let is_plain = ty.clone().into_iter().all(|tree| matches!(&tree, proc_macro2::TokenTree::Ident(_)));
        if is_plain { ty.clone() } else { quote!(<#ty>) }
    }

    /// Expands to: `const _: () = { use ::tool_core::__private as __tool; .. };`
    ///
    /// The names of the prelude are imported under our own: the user's module may have given them another meaning, and
    /// full paths would make the generated code longer than it is.
    pub(crate) fn enclose(&self, cfgs: &TokenStream, items: &TokenStream) -> TokenStream {
        let krate = &self.krate;
        let deprecated = self.calls_deprecated.then(|| quote!(deprecated,));
        quote_spanned! {Span::mixed_site()=>
            #cfgs
            #[allow(#deprecated clippy::all, clippy::nursery, clippy::pedantic)]
            const _: () = {
                use #krate::__private::{self as __tool, Parameter as __Row};
                use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
                use ::core::result::Result::{self as __Result, Ok as __Ok};
                use ::std::{string::String as __String, vec::Vec as __Vec};
                #items
            };
        }
    }
}

/// Whether the block or a method of it is deprecated.
fn deprecates(block: &Block) -> bool {
    let mut methods = block.members.iter().filter_map(|member| match member {
        Member::Function(function) => Some(function),
        _ => None,
    });
    is_deprecated(&block.parsed.attrs) || methods.any(|function| is_deprecated(&function.attrs))
}

fn is_deprecated(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("deprecated"))
}

pub(crate) fn krate_path(krate: Option<&Path>) -> TokenStream {
    krate.map_or_else(|| quote_spanned!(Span::mixed_site()=> ::tool_core), ToTokens::to_token_stream)
}
