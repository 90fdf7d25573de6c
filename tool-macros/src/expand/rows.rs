//! The table of parameters, from which schemas are assembled at run time.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};

use super::args::{derived_ident, table_type};
use super::{Unit, constraint, value};
use crate::model::parameter::Argument;
use crate::tokens::located;

/// Expands to: `__tool::Parameter::new::<u32>("limit", "How many").default_literal("10").constraints(&[..])`
pub(crate) fn row(unit: &Unit, index: usize, argument: &Argument) -> TokenStream {
    let name = &argument.name;
    let (site, place) = (Span::mixed_site(), located(argument.ty));
    if !argument.derived.is_empty() {
        let ty = derived_ident(unit, index);
        return quote_spanned!(place=> __Row::flattened::<#ty>(#name));
    }
    let ty = table_type(unit.site, argument);
    if argument.flatten.is_some() {
        return quote_spanned!(place=> __Row::flattened::<#ty>(#name));
    }
    let description =
        argument.description.as_ref().map_or_else(|| "".to_token_stream(), |text| super::text(text, unit.site));
    let aliases = &argument.aliases;
    let aliases = (!aliases.is_empty()).then(|| quote!(.aliases(&[#(#aliases),*])));
    let limits = argument.constraints.iter().map(constraint::expand);
    let limits = (!argument.constraints.is_empty()).then(|| quote_spanned!(site=> .constraints(&[#(#limits),*])));
    let (default, examples) = (value::row(unit, argument), value::examples(unit, argument));
    quote_spanned!(place=> __Row::new::<#ty>(#name, #description) #aliases #default #limits #examples)
}
