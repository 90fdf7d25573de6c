//! The output beside errors.
//!
//! It contains the user's own item, so that the editor keeps working, and the impls that other code
//! needs, so that one mistake is not reported many times.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::attr::toolset::PartOption;
use crate::expand::scope::ItemScope;
use crate::input::FunctionItem;
use crate::model::toolset::Toolset;

/// Prints an item that does not parse.
pub(crate) fn unparsed(errors: &TokenStream, item: &TokenStream) -> TokenStream {
    quote!(#errors #item)
}

/// Prints the block, and implements a toolset without tools.
pub(crate) fn toolset(errors: &TokenStream, toolset: &Toolset) -> TokenStream {
    let block = toolset.block;
    let stub = stub(toolset);
    quote!(#errors #block #stub)
}

/// Prints the function.
pub(crate) fn function(errors: &TokenStream, function: &FunctionItem) -> TokenStream {
    quote!(#errors #function)
}

fn stub(toolset: &Toolset) -> Option<TokenStream> {
    let block = &toolset.block.parsed;
    if block.trait_.is_some() || toolset.block.borrows() {
        return None;
    }
    let scope = ItemScope::of_block(toolset.block, toolset.options.krate.as_ref());
    let self_ty = &scope.self_ty;
    let generics = scope.declared();
    let clause = scope.where_clause();
    let items = match &toolset.options.part {
        Some(PartOption::Unnamed(_)) => return None,
        Some(PartOption::Named(name)) => {
            let function = quote::format_ident!("__tool_part_{name}", span = Span::mixed_site());
            quote_spanned! {Span::mixed_site()=>
                impl<#generics> #self_ty #clause {
                    #[doc(hidden)]
                    pub const fn #function() -> &'static __tool::PartSpec<Self> { &__tool::PartSpec::new() }
                }
            }
        }
        None => quote_spanned! {Span::mixed_site()=>
            impl<#generics> __tool::MainToolsetBlock for #self_ty #clause {
                const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("toolset");
            }
        },
    };
    Some(scope.enclose(&TokenStream::new(), &items))
}
