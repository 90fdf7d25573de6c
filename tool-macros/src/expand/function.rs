//! `#[tool]` on a free fn.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use super::args::{Args, tool_mentions};
use super::site::Site;
use super::{Unit, spec, traced};
use crate::model::Tool;

/// Expands to:
///
/// ```text
/// fn add(..) { ::tool_core::__private::in_tool(..) }
/// const _: () = {
///     ..
///     static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(..);
///     __tool::inventory::submit! { __tool::Registration::function(|| __tool::type_id_of(&add), &__TOOL_SPEC) }
/// };
/// ```
pub(crate) fn expand(tool: &Tool) -> TokenStream {
    let site = Site::free(tool.options.krate.as_ref(), tool.function);
    let (function, name) = (tool.function, tool.ident());
    let ident = Args::name(tool, &mut Vec::new(), |name| tool_mentions(tool, name));
    let unit = Unit { tool, site: &site, args: Args::of(tool, &site, ident) };
    let (items, public, spec) = (unit.items(), unit.args.public(&unit), spec::expand(&unit));
    let items = quote_spanned! {Span::mixed_site()=>
        #items
        static __TOOL_SPEC: __tool::ToolSpec<()> = #spec;
        __tool::inventory::submit! {
            __tool::Registration::function(|| __tool::type_id_of(&#name), &__TOOL_SPEC)
        }
    };
    let constant = site.enclose(&TokenStream::new(), &items);
    let function = function.rewritten(&traced::tool(&unit));
    quote!(#function #public #constant)
}
