//! How an argument struct reads its fields: a lean loop that only names them.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::args::{derived_ident, field, table_type};
use super::{Unit, constraint, index, own, rows, value};
use crate::model::parameter::Argument;
use crate::tokens::located;

/// Expands to:
///
/// ```text
/// impl<'__de> __tool::ArgumentStruct<'__de> for CreateEventArgs<'__de> {
///     const PARAMETERS: &'static [__tool::Parameter] = &[..];
///     fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> Result<Self, F::Error> { .. }
/// }
/// ```
pub(crate) fn expand(unit: &Unit) -> TokenStream {
    let (args, cfgs) = (&unit.args, unit.cfgs());
    let (generics, applied, clause) = (args.impl_generics(), args.applied(&quote!('__de)), args.where_clause());
    let rows = unit.tool.arguments().enumerate().map(|(i, argument)| rows::row(unit, i, argument));
    let (fields, body) = (own("fields"), body(unit));
    let implementation = quote_spanned! {Span::mixed_site()=>
        #cfgs
        impl #generics __tool::ArgumentStruct<'__de> for #applied #clause {
            const PARAMETERS: &'static [__Row] = &[#(#rows),*];
            fn decode<F: __tool::Fields<'__de>>(#fields: &mut F) -> __Result<Self, F::Error> { #body }
        }
    };
    let deserialize = needs_deserialize(unit).then(|| deserialize(unit));
    quote!(#implementation #deserialize)
}

fn needs_deserialize(unit: &Unit) -> bool {
    unit.tool.options.args.is_some()
}

/// Expands to: `impl<'__de> __tool::serde::Deserialize<'__de> for CreateEventArgs<'__de> { .. }`
fn deserialize(unit: &Unit) -> TokenStream {
    let (args, cfgs) = (&unit.args, unit.cfgs());
    let (generics, applied, clause) = (args.impl_generics(), args.applied(&quote!('__de)), args.where_clause());
    quote_spanned! {Span::mixed_site()=>
        #cfgs
        impl #generics __tool::serde::Deserialize<'__de> for #applied #clause {
            fn deserialize<D: __tool::serde::Deserializer<'__de>>(from: D) -> __Result<Self, D::Error> {
                __tool::deserialize_arguments(from)
            }
        }
    }
}

fn body(unit: &Unit) -> TokenStream {
    let site = Span::mixed_site();
    let (fields, args) = (own("fields"), own("args"));
    let (reading, rest_is_there) = (reading(unit), unit.tool.arguments().any(is_kept));
    let values = unit.tool.arguments().enumerate().map(|(i, argument)| {
        let (name, value) = (field(argument), field_value(unit, i, argument));
        quote_spanned!(site=> #name: #value)
    });
    let marker = unit.args.generic.then(|| quote_spanned!(site=> __marker: ::core::marker::PhantomData));
    let built = values.chain(marker);
    let built = quote_spanned!(site=> Self { #(#built),* });
    let checks = checks(unit);
    let finish = rest_is_there.then(|| {
        let rest = own("rest");
        quote_spanned!(site=> #fields.finish(#rest)?;)
    });
    if checks.is_empty() && finish.is_none() {
        return quote_spanned!(site=> #reading __Ok(#built));
    }
    quote_spanned! {site=>
        #reading
        let #args = #built;
        #finish
        #checks
        __Ok(#args)
    }
}

/// The loop over the entries of the object.
fn reading(unit: &Unit) -> TokenStream {
    let site = Span::mixed_site();
    let (fields, rest, found) = (own("fields"), own("rest"), own("index"));
    let count = unit.tool.arguments().count();
    if count == 0 {
        // An empty table: whatever comes is unknown, and that is an error.
        return quote_spanned!(site=> #fields.next(Self::PARAMETERS)?;);
    }
    let named = || unit.tool.arguments().enumerate().filter(|(_, argument)| !is_kept(argument));
    let slots: Vec<Ident> = named().map(|(i, _)| slot(i)).collect();
    let first_kept = unit.tool.arguments().position(is_kept);
    let none = slots.iter().map(|_| quote_spanned!(site=> __None));
    let kept = first_kept.map(|i| (i, quote_spanned!(site=> #fields.keep(&mut #rest)?)));
    let read = named().map(|(i, argument)| {
        let (slot, place) = (slot(i), located(argument.ty));
        (i, quote_spanned!(place=> #slot = __Some(#fields.value()?)))
    });
    let mut arms: Vec<(usize, TokenStream)> = read.chain(kept).collect();
    arms.sort_by_key(|(i, _)| *i);
    let last = arms.len().saturating_sub(1);
    let arms = arms.into_iter().enumerate().map(|(position, (i, action))| {
        let pattern = index(i);
        if position == last { quote_spanned!(site=> _ => #action) } else { quote_spanned!(site=> #pattern => #action) }
    });
    let declared = match slots.as_slice() {
        [] => TokenStream::new(),
        [one] => quote_spanned!(site=> let mut #one = __None;),
        _ => quote_spanned!(site=> let (#(mut #slots),*) = (#(#none),*);),
    };
    let rest = first_kept.map(|_| quote_spanned!(site=> let mut #rest = __tool::Rest::new();));
    quote_spanned! {site=>
        #declared
        #rest
        while let __Some(#found) = #fields.next(Self::PARAMETERS)? {
            match #found { #(#arms,)* }
        }
    }
}

fn slot(i: usize) -> Ident {
    format_ident!("f{i}", span = Span::mixed_site())
}

/// Whether its entries are kept for later: it is flattened, or only the derives can read it.
fn is_kept(argument: &Argument) -> bool {
    argument.flatten.is_some() || !argument.derived.is_empty()
}

/// Expands to: `fields.required(f0, 0)?`
fn field_value(unit: &Unit, i: usize, argument: &Argument) -> TokenStream {
    let (site, place) = (Span::mixed_site(), located(argument.ty));
    let (fields, rest) = (own("fields"), own("rest"));
    if !argument.derived.is_empty() {
        let (ty, name) = (derived_ident(unit, i), field(argument));
        return quote_spanned!(site=> #fields.flattened::<#ty>(&mut #rest)?.#name);
    }
    if argument.flatten.is_some() {
        let ty = table_type(unit.site, argument);
        return quote_spanned!(place=> #fields.flattened::<#ty>(&mut #rest)?);
    }
    let (mut slot, number) = (slot(i), index(i));
    slot.set_span(place);
    let required = quote_spanned!(place=> #fields.required(#slot, #number)?);
    value::or_default(unit, argument, &quote!(#slot), required)
}

/// Expands to: `fields.check(2, __tool::in_range(&args.limit, &Self::PARAMETERS[2]))?;`, one per limit.
fn checks(unit: &Unit) -> TokenStream {
    let each = unit.tool.arguments().enumerate().flat_map(|(i, argument)| {
        let (number, place) = (index(i), located(argument.ty));
        let mut name = field(argument);
        name.set_span(place);
        // At the type's place too, so that an error about the value points there.
        let (fields, args) = (Ident::new("fields", place), Ident::new("args", place));
        argument.constraints.iter().map(move |limit| {
            let checker = constraint::checker(limit);
            quote_spanned!(place=> #fields.check(#number, __tool::#checker(&#args.#name, &Self::PARAMETERS[#number]))?;)
        })
    });
    quote!(#(#each)*)
}
