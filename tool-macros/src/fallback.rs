//! What goes out beside the errors: the user's own item, so that the editor keeps working, and the impls that the rest
//! of the crate counts on, so that one mistake is not reported as twenty.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::attr::toolset::Part;
use crate::expand::site::Site;
use crate::input::Function;
use crate::model::Toolset;

/// The item could not be read at all.
pub(crate) fn unread(errors: &TokenStream, item: &TokenStream) -> TokenStream {
    quote!(#errors #item)
}

/// The block without our attributes, and a toolset without tools.
pub(crate) fn toolset(errors: &TokenStream, toolset: &Toolset) -> TokenStream {
    let block = toolset.block;
    let stub = stub(toolset);
    quote!(#errors #block #stub)
}

/// The function without our attributes.
pub(crate) fn function(errors: &TokenStream, function: &Function) -> TokenStream {
    quote!(#errors #function)
}

fn stub(toolset: &Toolset) -> Option<TokenStream> {
    let block = &toolset.block.parsed;
    if block.trait_.is_some() || toolset.block.borrows() {
        return None;
    }
    let site = Site::of_block(toolset.block, toolset.options.krate.as_ref());
    let (self_ty, generics, clause) = (&site.self_ty, site.declared(), site.where_clause());
    let items = match &toolset.options.part {
        Some(Part::Unnamed(_)) => return None,
        Some(Part::Named(name)) => {
            let function = quote::format_ident!("__tool_part_{name}", span = Span::mixed_site());
            quote_spanned! {Span::mixed_site()=>
                impl<#generics> #self_ty #clause {
                    #[doc(hidden)]
                    pub const fn #function() -> &'static [__tool::ToolSpec<Self>] { &[] }
                }
            }
        }
        None => quote_spanned! {Span::mixed_site()=>
            impl<#generics> __tool::MainToolsetBlock for #self_ty #clause {
                const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("toolset", "", &[]);
            }
        },
    };
    Some(site.enclose(&TokenStream::new(), &items))
}
