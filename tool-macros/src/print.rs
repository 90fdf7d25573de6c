//! The user's item without the attributes that the macros consume.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt as _, quote};
use syn::{Attribute, FnArg, Signature};

use crate::attr::grammar::is;
use crate::attr::{cfg_attr, foreign};
use crate::docs::is_conditional_doc;
use crate::input::{FunctionItem, ImplBlock, ImplMember};
use crate::tokens::regrouped;

/// A new body for a function, and the attribute that the body replaces.
pub(crate) struct RewrittenBody<'a> {
    pub(crate) body: TokenStream,
    pub(crate) consumed: Option<&'a Attribute>,
}

impl ImplBlock {
    /// Prints the block with the bodies that `rewrite` gives.
    pub(crate) fn rewritten<'a>(
        &self,
        rewrite: impl Fn(&FunctionItem) -> Option<RewrittenBody<'a>>,
    ) -> TokenStream {
        let members = self.members.iter().map(|member| match member {
            ImplMember::FunctionItem(function) => match rewrite(function) {
                Some(rewritten) => function.rewritten(&rewritten),
                None => function.to_token_stream(),
            },
            other => other.to_token_stream(),
        });
        let head = &self.head;
        let braces = regrouped(&self.braces, quote!(#(#members)*));
        quote!(#head #braces)
    }
}

impl ToTokens for ImplBlock {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.rewritten(|_| None));
    }
}

impl ToTokens for ImplMember {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::FunctionItem(function) => function.to_tokens(tokens),
            Self::Other(other) => other.to_tokens(tokens),
            Self::Broken(broken, _) => without_consumed(broken.clone()).to_tokens(tokens),
        }
    }
}

impl FunctionItem {
    /// Prints the function with another body.
    pub(crate) fn rewritten(&self, rewritten: &RewrittenBody) -> TokenStream {
        let is_kept = |attr: &&Attribute| {
            !rewritten
                .consumed
                .is_some_and(|consumed| std::ptr::eq(consumed, *attr))
        };
        let head = self.head(is_kept);
        let body = &rewritten.body;
        quote!(#head #body)
    }

    /// Prints the tokens before the body.
    fn head(&self, is_kept: impl Fn(&&Attribute) -> bool) -> TokenStream {
        let attrs = self
            .attrs
            .iter()
            .filter(|attr| !is_consumed(attr))
            .filter(is_kept);
        let vis = &self.vis;
        let defaultness = &self.defaultness;
        let sig = stripped(&self.sig);
        quote!(#(#attrs)* #vis #defaultness #sig)
    }
}

impl ToTokens for FunctionItem {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.head(|_| true).to_tokens(tokens);
        self.body.to_tokens(tokens);
    }
}

/// Returns whether the macros consume this attribute of a method.
fn is_consumed(attr: &Attribute) -> bool {
    let is_ours = ["tool", "prompt", "resource", "setup", "close"]
        .iter()
        .any(|name| is(attr, name));
    // These in a `cfg_attr` were refused already.
    let is_refused = || {
        ["tool", "prompt", "resource"]
            .iter()
            .any(|name| cfg_attr::adds(&attr.meta, name))
    };
    is_ours || is_refused()
}

/// Removes the consumed attributes from tokens that do not parse, so that rustc does not report
/// them too.
fn without_consumed(tokens: TokenStream) -> TokenStream {
    let mut left = TokenStream::new();
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Punct(hash)
                if hash.as_char() == '#' && trees.next_if(is_consumed_group).is_some() => {}
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                let inner = without_consumed(group.stream());
                // A rebuilt group moves an error at its end to the whole group.
                let is_same =
                    inner.clone().into_iter().count() == group.stream().into_iter().count();
                left.append(if is_same {
                    group
                } else {
                    regrouped(&group, inner)
                });
            }
            other => left.append(other),
        }
    }
    left
}

/// Returns whether these are the brackets of a consumed attribute.
fn is_consumed_group(tree: &TokenTree) -> bool {
    let TokenTree::Group(group) = tree else {
        return false;
    };
    let first = group.stream().into_iter().next();
    let ours = [
        "tool", "prompt", "resource", "setup", "close", "arg", "context",
    ];
    matches!(first, Some(TokenTree::Ident(word)) if ours.iter().any(|name| word == name))
}

/// Returns whether rustc would refuse this attribute on a parameter.
fn is_inert(attr: &Attribute) -> bool {
    let is_doc = attr.path().is_ident("doc") || is_conditional_doc(attr);
    is(attr, "arg") || is(attr, "context") || is_doc || foreign::is_foreign(attr)
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
