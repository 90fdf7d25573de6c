//! From model to tokens. Every function here says what it "expands to"; `__tool` is the run-time side.

pub(crate) mod args;
pub(crate) mod block;
pub(crate) mod constraint;
pub(crate) mod decode;
pub(crate) mod function;
pub(crate) mod rows;
pub(crate) mod site;
pub(crate) mod spec;
pub(crate) mod tool_error;
pub(crate) mod traced;
pub(crate) mod value;
pub(crate) mod wrapper;

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote_spanned;

use crate::model::{Text, Tool};
use args::Args;
use site::Site;

/// A tool and all that its parts share.
pub(crate) struct Unit<'a> {
    pub(crate) tool: &'a Tool<'a>,
    pub(crate) site: &'a Site<'a>,
    pub(crate) args: Args<'a>,
}

/// A name of ours, which no name of the user's can mean.
pub(crate) fn own(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// An index without its type's suffix.
pub(crate) fn index(index: usize) -> Literal {
    Literal::usize_unsuffixed(index)
}

/// A text for the model: words, or the user's constant expression.
pub(crate) fn text(text: &Text, site: &Site) -> TokenStream {
    match text {
        Text::Words(words) => quote_spanned!(Span::mixed_site()=> #words),
        Text::Made(expr) => site.without_self(expr),
    }
}

impl Unit<'_> {
    /// The items of one tool, before its entry in the table.
    ///
    /// Expands to: the argument struct, its `ArgumentStruct`, the wrapper.
    pub(crate) fn items(&self) -> TokenStream {
        let (structs, decode, wrapper) = (self.args.private(self), decode::expand(self), wrapper::expand(self));
        quote_spanned!(Span::mixed_site()=> #structs #decode #wrapper)
    }

    /// The conditions of the method, for everything that is made for it.
    pub(crate) fn cfgs(&self) -> TokenStream {
        let cfgs = self.tool.function.cfgs();
        quote_spanned!(Span::mixed_site()=> #(#cfgs)*)
    }
}
