//! The slots into which a wrapper decodes its arguments: a variable for each parameter.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};

use super::arguments::{derived_ident, field, parameter_trait, slot_type};
use super::decode::is_kept;
use super::expansion::{ToolExpansion, unsuffixed};
use super::parameters::checker;
use super::value;
use crate::model::parameter::{Argument, DefaultValue};
use crate::model::passing::PassingForm;
use crate::tokens::{generated, located, site};

/// Names the variable of a parameter: `f0`.
pub(super) fn slot(index: usize) -> Ident {
    format_ident!("__f{index}", span = site())
}

/// Expands to:
///
/// ```text
/// let mut f0 = None;
/// let mut f1 = None::<u32>;
/// call.decode(&mut [<City as __tool::ToolParameter>::slot(&mut f0), &mut f1])?;
/// let f1 = f1.unwrap_or_else(|| -> u32 { 30 });
/// ```
///
/// With constraints, the call is accepted after them:
///
/// ```text
/// let decoded = call.read(&mut [<City as __tool::ToolParameter>::slot(&mut f0), &mut f1])?;
/// let f1 = __tool::filled(f1);
/// call.check(1, __tool::in_range(&f1, call.parameter(1)))?;
/// call.accept(decoded)?;
/// ```
pub(super) fn decode(expansion: &ToolExpansion) -> TokenStream {
    let (span, call, decoded) = (site(), generated("__call"), generated("__decoded"));
    let arguments = || expansion.tool.arguments().enumerate();
    let declared = arguments().map(|(i, argument)| declaration(expansion, i, argument));
    let slots = arguments().map(|(i, argument)| reference(expansion, i, argument));
    let values = arguments()
        .filter(|(_, argument)| !is_passed_as_decoded(argument))
        .filter_map(|(i, argument)| {
            let (slot, value) = (slot(i), decoded_value(expansion, i, argument)?);
            Some(quote_spanned!(span=> let #slot = #value;))
        });
    let checks = checks(expansion);
    if checks.is_empty() {
        return quote_spanned!(span=> #(#declared)* #call.decode(&mut [#(#slots),*])?; #(#values)*);
    }
    quote_spanned! {span=>
        #(#declared)*
        let #decoded = #call.read(&mut [#(#slots),*])?;
        #(#values)*
        #checks
        #call.accept(#decoded)?;
    }
}

/// Expands to: `let mut f0 = None::<String>;`
fn declaration(expansion: &ToolExpansion, index: usize, argument: &Argument) -> TokenStream {
    let span = site();
    let slot = slot(index);
    if is_kept(argument) {
        return quote_spanned!(span=> let mut #slot = __tool::Flattened(__None););
    }
    if parameter_trait(expansion.scope, argument).is_some() {
        return quote_spanned!(span=> let mut #slot = __None;);
    }
    let ty = slot_type(expansion.scope, argument);
    quote_spanned!(span=> let mut #slot = __None::<#ty>;)
}

/// Expands to: `&mut f0`, or for a type that is not well known `<City as __tool::ToolParameter>::slot(&mut f0)`
fn reference(expansion: &ToolExpansion, index: usize, argument: &Argument) -> TokenStream {
    let span = site();
    let slot = slot(index);
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
            let mut slot = slot;
            slot.set_span(place);
            quote_spanned!(place=> &mut #slot)
        }
    }
}

/// Returns whether the call of the method takes the value out of its slot.
fn is_passed_as_decoded(argument: &Argument) -> bool {
    let is_owned = matches!(argument.passing.form, PassingForm::Owned(_));
    is_owned && argument.constraints.is_empty() && matches!(argument.default, DefaultValue::None)
}

/// Writes the value of a slot, or `None` where the instance decides later.
fn decoded_value(
    expansion: &ToolExpansion,
    index: usize,
    argument: &Argument,
) -> Option<TokenStream> {
    if matches!(argument.default, DefaultValue::Instance(_)) {
        return None;
    }
    Some(value::or_default(
        expansion,
        argument,
        &slot(index).to_token_stream(),
        filled(index, argument),
    ))
}

/// Expands to: `__tool::filled(f0)`
fn filled(index: usize, argument: &Argument) -> TokenStream {
    let (span, slot) = (site(), slot(index));
    match (is_kept(argument), argument.derived.is_empty()) {
        (false, _) => quote_spanned!(span=> __tool::filled(#slot)),
        (true, true) => quote_spanned!(span=> __tool::filled(#slot.0)),
        (true, false) => {
            let name = field(argument);
            quote_spanned!(span=> __tool::filled(#slot.0).#name)
        }
    }
}

/// Writes the value that the call of the method takes.
pub(super) fn passed(index: usize, argument: &Argument) -> TokenStream {
    if is_passed_as_decoded(argument) {
        filled(index, argument)
    } else {
        slot(index).to_token_stream()
    }
}

/// Expands to: `let f2 = call.or_instance_default(f2, 2, |text| <u32 as __tool::ToolParameter>::from_text(text))?;`
///
/// The default was evaluated and published when the tool was bound.
pub(super) fn instance_defaults(expansion: &ToolExpansion) -> TokenStream {
    let (span, call) = (site(), generated("__call"));
    let arguments = expansion.tool.arguments().enumerate();
    let each =
        arguments.filter(|(_, argument)| matches!(argument.default, DefaultValue::Instance(_)));
    let each = each.map(|(i, argument)| {
        let (slot, number) = (slot(i), unsuffixed(i));
        let read = if let Some(ty) = parameter_trait(expansion.scope, argument) {
            quote_spanned!(span=> |__text| #ty::from_text(__text))
        } else {
            quote_spanned!(span=> __tool::from_text)
        };
        quote_spanned!(span=> let #slot = #call.or_instance_default(#slot, #number, #read)?;)
    });
    quote!(#(#each)*)
}

/// Expands to: `call.check(2, __tool::in_range(&f2, call.parameter(2)))?;`, one per constraint.
fn checks(expansion: &ToolExpansion) -> TokenStream {
    let each = expansion.tool.arguments().enumerate().flat_map(|(i, argument)| {
        let (number, place) = (unsuffixed(i), located(argument.ty));
        // An error about the value points at the type.
        let mut slot = slot(i);
        slot.set_span(place);
        let call = Ident::new("__call", place);
        argument.constraints.iter().map(move |limit| {
            let checker = checker(limit);
            quote_spanned!(place=> #call.check(#number, __tool::#checker(&#slot, #call.parameter(#number)))?;)
        })
    });
    quote!(#(#each)*)
}
