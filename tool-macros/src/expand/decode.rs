//! The decoding of a tool's arguments: a slot for each parameter, then the fields of the argument
//! struct.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::arguments::{derived_ident, field, parameter_trait};
use super::expansion::{ToolExpansion, unsuffixed};
use super::parameters::{checker, row};
use super::value;
use crate::model::parameter::Argument;
use crate::tokens::{generated, located, site};

/// Expands to:
///
/// ```text
/// impl<'__de> __tool::ArgumentStruct<'__de> for CreateEventArgs<'__de> {
///     const PARAMETERS: &'static [__Row] = &[..];
///     fn decode<S: __Source<'__de>>(from: &mut S) -> Result<Self, S::Error> { .. }
/// }
/// ```
pub(crate) fn expand(expansion: &ToolExpansion) -> TokenStream {
    let args = &expansion.args;
    let cfgs = expansion.cfgs();
    let generics = args.impl_generics();
    let applied = args.applied(&quote!('__de));
    let clause = args.where_clause();
    let rows = expansion
        .tool
        .arguments()
        .enumerate()
        .map(|(index, argument)| row(expansion, index, argument));
    let from = generated("__from");
    let body = body(expansion);
    let implementation = quote_spanned! {site()=>
        #cfgs
        impl #generics __tool::ArgumentStruct<'__de> for #applied #clause {
            const PARAMETERS: &'static [__Row] = &[#(#rows),*];
            fn decode<__S: __Source<'__de>>(#from: &mut __S) -> __Result<Self, __S::Error> { #body }
        }
    };
    let deserialize = args.is_public.then(|| deserialize(expansion));
    quote!(#implementation #deserialize)
}

/// Expands to: `impl<'__de> __tool::serde::Deserialize<'__de> for CreateEventArgs<'__de> { .. }`
fn deserialize(expansion: &ToolExpansion) -> TokenStream {
    let args = &expansion.args;
    let cfgs = expansion.cfgs();
    let generics = args.impl_generics();
    let applied = args.applied(&quote!('__de));
    let clause = args.where_clause();
    quote_spanned! {site()=>
        #cfgs
        impl #generics __tool::serde::Deserialize<'__de> for #applied #clause {
            fn deserialize<__D: __tool::serde::Deserializer<'__de>>(__from: __D) -> __Result<Self, __D::Error> {
                __tool::deserialize_arguments(__from)
            }
        }
    }
}

/// Expands to:
///
/// ```text
/// let mut f = (None, None);
/// from.decode([<City as __tool::ToolParameter>::slot(&mut f.0), &mut f.1])?;
/// Ok(Self { city: __tool::filled(f.0), days: f.1.unwrap_or_else(|| -> u32 { 30 }) })
/// ```
///
/// With constraints, the source accepts the arguments after them:
///
/// ```text
/// let decoded = from.read([<City as __tool::ToolParameter>::slot(&mut f.0), &mut f.1])?;
/// let args = Self { city: __tool::filled(f.0), days: __tool::filled(f.1) };
/// from.check(1, __tool::in_range(&args.days, Self::row(1)))?;
/// from.accept(decoded, args)
/// ```
fn body(expansion: &ToolExpansion) -> TokenStream {
    let span = site();
    let from = generated("__from");
    let fields_in = generated(SLOTS);
    let arguments = || expansion.tool.arguments().enumerate();
    let empty = expansion.tool.arguments().map(empty_slot);
    let declared = arguments()
        .next()
        .map(|_| quote_spanned!(span=> let mut #fields_in = (#(#empty,)*);));
    let slots = arguments().map(|(index, argument)| reference(expansion, index, argument));
    let fields = arguments().map(|(index, argument)| {
        let name = field(argument);
        let value = field_value(expansion, index, argument);
        quote_spanned!(span=> #name: #value)
    });
    let marker = expansion
        .args
        .generic
        .then(|| quote_spanned!(span=> __marker: ::core::marker::PhantomData));
    let fields = fields.chain(marker);
    let built = quote_spanned!(span=> Self { #(#fields),* });
    let checks = checks(expansion);

    if checks.is_empty() {
        return quote_spanned! {span=>
            #declared
            #from.decode([#(#slots),*])?;
            __Ok(#built)
        };
    }

    let decoded = generated("__decoded");
    let args = generated("__args");
    quote_spanned! {span=>
        #declared
        let #decoded = #from.read([#(#slots),*])?;
        let #args = #built;
        #checks
        #from.accept(#decoded, #args)
    }
}

/// The name of the slots of all parameters.
const SLOTS: &str = "__f";

/// Writes the slot of a parameter: `f.0`.
fn slot(index: usize, place: Span) -> TokenStream {
    let slots = Ident::new(SLOTS, place);
    let mut index = Literal::usize_unsuffixed(index);
    index.set_span(place);
    quote_spanned!(place=> #slots.#index)
}

/// Returns whether the members of the parameter are kept until the end: it is flattened, or left to
/// the derives.
fn is_kept(argument: &Argument) -> bool {
    argument.flatten.is_some() || !argument.derived.is_empty()
}

/// Expands to: `None`
fn empty_slot(argument: &Argument) -> TokenStream {
    if is_kept(argument) {
        quote_spanned!(site()=> __tool::Flattened(__None))
    } else {
        quote_spanned!(site()=> __None)
    }
}

/// Expands to: `&mut f.0`, or for a type that is not well known
/// `<City as __tool::ToolParameter>::slot(&mut f.0)`
fn reference(expansion: &ToolExpansion, index: usize, argument: &Argument) -> TokenStream {
    let span = site();
    let slot = slot(index, span);
    if !argument.derived.is_empty() {
        let ty = derived_ident(expansion, index);
        return quote_spanned!(span=> <#ty as __tool::ToolParameter>::flattened_slot(&mut #slot));
    }
    match parameter_trait(expansion.scope, argument) {
        Some(ty) if argument.flatten.is_some() => {
            quote_spanned!(span=> #ty::flattened_slot(&mut #slot))
        }
        Some(ty) => quote_spanned!(span=> #ty::slot(&mut #slot)),
        // The compiler reports a type that cannot be decoded at the slot.
        None => {
            let place = located(argument.ty);
            let slot = self::slot(index, place);
            quote_spanned!(place=> &mut #slot)
        }
    }
}

/// Writes the value of a field: what its slot holds, or the default.
fn field_value(expansion: &ToolExpansion, index: usize, argument: &Argument) -> TokenStream {
    let span = site();
    let slot = slot(index, span);
    let required = if !argument.derived.is_empty() {
        let name = field(argument);
        quote_spanned!(span=> __tool::filled(#slot.0).#name)
    } else if is_kept(argument) {
        quote_spanned!(span=> __tool::filled(#slot.0))
    } else {
        quote_spanned!(span=> __tool::filled(#slot))
    };
    value::or_default(expansion, argument, &slot, required)
}

/// Expands to:
/// `let defaults = (call.or_instance_default(args.days, 2, <u32 as __tool::ToolParameter>::from_text)?,);`
///
/// The default was evaluated and published when the tool was bound.
pub(super) fn instance_defaults(expansion: &ToolExpansion) -> TokenStream {
    let span = site();
    let call = generated("__call");
    let args = generated("__args");
    let arguments = expansion.tool.arguments().enumerate();
    let each = arguments.filter(|(_, argument)| argument.default.is_of_instance());
    let mut each = each.map(|(index, argument)| {
        let name = field(argument);
        let number = unsuffixed(index);
        let read = if let Some(ty) = parameter_trait(expansion.scope, argument) {
            quote_spanned!(span=> |__text| #ty::from_text(__text))
        } else {
            quote_spanned!(span=> __tool::from_text)
        };
        quote_spanned!(span=> #call.or_instance_default(#args.#name, #number, #read)?)
    });
    let Some(first) = each.next() else {
        return TokenStream::new();
    };
    let defaults = generated(DEFAULTS);
    quote_spanned!(span=> let #defaults = (#first, #(#each,)*);)
}

/// The name of the arguments that have a default of the instance.
const DEFAULTS: &str = "__defaults";

/// Writes an argument that has a default of the instance: `defaults.0`.
pub(super) fn instance_default(expansion: &ToolExpansion, argument: &Argument) -> TokenStream {
    let of_instance = expansion
        .tool
        .arguments()
        .filter(|each| each.default.is_of_instance());
    let before = of_instance.take_while(|each| !std::ptr::eq(*each, argument));
    let index = unsuffixed(before.count());
    let defaults = generated(DEFAULTS);
    quote_spanned!(site()=> #defaults.#index)
}

/// Expands to: `from.check(2, __tool::in_range(&args.limit, Self::row(2)))?;`, one per constraint.
fn checks(expansion: &ToolExpansion) -> TokenStream {
    let each = expansion.tool.arguments().enumerate().flat_map(|(index, argument)| {
        let number = unsuffixed(index);
        // An error about the value points at the type.
        let place = located(argument.ty);
        let mut name = field(argument);
        name.set_span(place);
        let from = Ident::new("__from", place);
        let args = Ident::new("__args", place);
        argument.constraints.iter().map(move |limit| {
            let checker = checker(limit);
            quote_spanned!(place=> #from.check(#number, __tool::#checker(&#args.#name, Self::row(#number)))?;)
        })
    });
    quote!(#(#each)*)
}
