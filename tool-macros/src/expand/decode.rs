//! The decoding of an argument struct, a loop that assigns fields.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};

use super::arguments::{derived_ident, field, parameter_trait};
use super::expansion::{ToolExpansion, unsuffixed};
use super::parameters::{checker, row};
use super::slots::slot;
use super::value;
use crate::model::parameter::Argument;
use crate::tokens::{generated, located, site};

/// Expands to:
///
/// ```text
/// impl<'__de> __tool::ArgumentStruct<'__de> for CreateEventArgs<'__de> {
///     const PARAMETERS: &'static [__tool::Parameter] = &[..];
///     fn decode<M: MapAccess<'__de>>(fields: &mut __tool::Fields<M>) -> Result<Self, M::Error> { .. }
/// }
/// ```
pub(crate) fn expand(expansion: &ToolExpansion) -> TokenStream {
    if !expansion.has_struct() {
        return TokenStream::new();
    }
    let (args, cfgs) = (&expansion.args, expansion.cfgs());
    let (generics, applied, clause) = (
        args.impl_generics(),
        args.applied(&quote!('__de)),
        args.where_clause(),
    );
    let rows = rows(expansion);
    let (fields, body) = (generated("__f"), body(expansion));
    let implementation = quote_spanned! {site()=>
        #cfgs
        impl #generics __tool::ArgumentStruct<'__de> for #applied #clause {
            const PARAMETERS: &'static [__Row] = &[#(#rows),*];
            fn decode<__M: __tool::serde::de::MapAccess<'__de>>(#fields: &mut __tool::Fields<__M>) -> __Result<Self, __M::Error> { #body }
        }
    };
    let deserialize = needs_deserialize(expansion).then(|| deserialize(expansion));
    quote!(#implementation #deserialize)
}

/// Writes the rows of the table of parameters.
pub(super) fn rows(expansion: &ToolExpansion) -> impl Iterator<Item = TokenStream> {
    expansion
        .tool
        .arguments()
        .enumerate()
        .map(|(i, argument)| row(expansion, i, argument))
}

fn needs_deserialize(expansion: &ToolExpansion) -> bool {
    expansion.tool.options.args.is_some()
}

/// Expands to: `impl<'__de> __tool::serde::Deserialize<'__de> for CreateEventArgs<'__de> { .. }`
fn deserialize(expansion: &ToolExpansion) -> TokenStream {
    let (args, cfgs) = (&expansion.args, expansion.cfgs());
    let (generics, applied, clause) = (
        args.impl_generics(),
        args.applied(&quote!('__de)),
        args.where_clause(),
    );
    quote_spanned! {site()=>
        #cfgs
        impl #generics __tool::serde::Deserialize<'__de> for #applied #clause {
            fn deserialize<__D: __tool::serde::Deserializer<'__de>>(__from: __D) -> __Result<Self, __D::Error> {
                __tool::deserialize_arguments(__from)
            }
        }
    }
}

fn body(expansion: &ToolExpansion) -> TokenStream {
    let span = site();
    let (fields, args) = (generated("__f"), generated("__args"));
    let (reading, rest_is_there) = (reading(expansion), expansion.tool.arguments().any(is_kept));
    let values = expansion.tool.arguments().enumerate().map(|(i, argument)| {
        let (name, value) = (field(argument), field_value(expansion, i, argument));
        quote_spanned!(span=> #name: #value)
    });
    let marker = expansion
        .args
        .generic
        .then(|| quote_spanned!(span=> __marker: ::core::marker::PhantomData));
    let built = values.chain(marker);
    let built = quote_spanned!(span=> Self { #(#built),* });
    let checks = checks(expansion);
    let finish = rest_is_there.then(|| {
        let rest = generated("__rest");
        quote_spanned!(span=> #fields.finish(#rest)?;)
    });
    if checks.is_empty() && finish.is_none() {
        return quote_spanned!(span=> #reading __Ok(#built));
    }
    quote_spanned! {span=>
        #reading
        let #args = #built;
        #finish
        #checks
        __Ok(#args)
    }
}

/// Writes the loop over the members of the object.
fn reading(expansion: &ToolExpansion) -> TokenStream {
    let span = site();
    let (fields, rest, found) = (generated("__f"), generated("__rest"), generated("__index"));
    let count = expansion.tool.arguments().count();
    if count == 0 {
        // Every member is unknown to an empty table, and therefore an error.
        return quote_spanned!(span=> #fields.next(Self::PARAMETERS)?;);
    }
    let named = || {
        expansion
            .tool
            .arguments()
            .enumerate()
            .filter(|(_, argument)| !is_kept(argument))
    };
    let slots: Vec<Ident> = named().map(|(i, _)| slot(i)).collect();
    let first_kept = expansion.tool.arguments().position(is_kept);
    let kept = first_kept.map(|i| (i, quote_spanned!(span=> #fields.keep(&mut #rest)?)));
    let read = named().map(|(i, argument)| {
        let slot = slot(i);
        let value = if let Some(ty) = parameter_trait(expansion.scope, argument) {
            quote_spanned!(span=> #ty::value(#fields)?)
        } else {
            quote_spanned!(span=> #fields.value()?)
        };
        (i, quote_spanned!(span=> #slot = __Some(#value)))
    });
    let mut arms: Vec<(usize, TokenStream)> = read.chain(kept).collect();
    arms.sort_by_key(|(i, _)| *i);
    let last = arms.len().saturating_sub(1);
    let arms = arms.into_iter().enumerate().map(|(position, (i, action))| {
        let pattern = unsuffixed(i);
        if position == last {
            quote_spanned!(span=> _ => #action)
        } else {
            quote_spanned!(span=> #pattern => #action)
        }
    });
    let declared = quote_spanned!(span=> #(let mut #slots = __None;)*);
    let rest = first_kept.map(|_| quote_spanned!(span=> let mut #rest = __tool::Rest::new();));
    quote_spanned! {span=>
        #declared
        #rest
        while let __Some(#found) = #fields.next(Self::PARAMETERS)? {
            match #found { #(#arms,)* }
        }
    }
}

/// Returns whether the members of the parameter are kept until the end: it is flattened, or left to the derives.
pub(super) fn is_kept(argument: &Argument) -> bool {
    argument.flatten.is_some() || !argument.derived.is_empty()
}

/// Expands to: `<u32 as __tool::ToolParameter>::required(fields, f0, 0)?`
fn field_value(expansion: &ToolExpansion, i: usize, argument: &Argument) -> TokenStream {
    let span = site();
    let (fields, rest) = (generated("__f"), generated("__rest"));
    if !argument.derived.is_empty() {
        let (ty, name) = (derived_ident(expansion, i), field(argument));
        return quote_spanned!(span=> <#ty as __tool::ToolParameter>::flattened(#fields, &mut #rest)?.#name);
    }
    let ty = parameter_trait(expansion.scope, argument);
    if argument.flatten.is_some() {
        return quote_spanned!(span=> #ty::flattened(#fields, &mut #rest)?);
    }
    let (slot, number) = (slot(i), unsuffixed(i));
    let required = if let Some(ty) = ty {
        quote_spanned!(span=> #ty::required(#fields, #slot, #number)?)
    } else {
        quote_spanned!(span=> #fields.required(#slot, #number)?)
    };
    value::or_default(expansion, argument, &quote!(#slot), required)
}

/// Expands to: `fields.check(2, __tool::in_range(&args.limit, &Self::PARAMETERS[2]))?;`, one per limit.
fn checks(expansion: &ToolExpansion) -> TokenStream {
    let each = expansion.tool.arguments().enumerate().flat_map(|(i, argument)| {
        let (number, place) = (unsuffixed(i), located(argument.ty));
        let mut name = field(argument);
        name.set_span(place);
        // An error about the value points at the type.
        let (fields, args) = (Ident::new("__f", place), Ident::new("__args", place));
        argument.constraints.iter().map(move |limit| {
            let checker = checker(limit);
            quote_spanned!(place=> #fields.check(#number, __tool::#checker(&#args.#name, &Self::PARAMETERS[#number]))?;)
        })
    });
    quote!(#(#each)*)
}
