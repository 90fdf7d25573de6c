//! The user's item again, minus the attributes that the macros consume. Nothing else of it changes.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt as _, quote};
use syn::{Attribute, FnArg, Signature};

use super::{Block, Function, Member};
use crate::attr::{foreign, is};

impl ToTokens for Block {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let members = &self.members;
        let mut braces = Group::new(self.braces.delimiter(), quote!(#(#members)*));
        braces.set_span(self.braces.span());
        self.head.to_tokens(tokens);
        tokens.append(TokenTree::Group(braces));
    }
}

impl ToTokens for Member {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Function(function) => function.to_tokens(tokens),
            Self::Other(other) | Self::Broken(other, _) => other.to_tokens(tokens),
        }
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.append_all(self.attrs.iter().filter(|attr| !is_consumed(attr)));
        self.vis.to_tokens(tokens);
        self.defaultness.to_tokens(tokens);
        stripped(&self.sig).to_tokens(tokens);
        self.body.to_tokens(tokens);
    }
}

/// Attributes of a method that are ours.
fn is_consumed(attr: &Attribute) -> bool {
    ["tool", "setup", "close"].iter().any(|name| is(attr, name))
}

/// rustc knows none of these on a parameter.
fn is_inert(attr: &Attribute) -> bool {
    is(attr, "arg") || is(attr, "context") || attr.path().is_ident("doc") || foreign::is_foreign(attr)
}

fn stripped(sig: &Signature) -> Signature {
    let mut sig = sig.clone();
    for input in &mut sig.inputs {
        let attrs = match input {
            FnArg::Receiver(receiver) => &mut receiver.attrs,
            FnArg::Typed(typed) => &mut typed.attrs,
        };
        attrs.retain(|attr| !is_inert(attr));
    }
    sig
}
