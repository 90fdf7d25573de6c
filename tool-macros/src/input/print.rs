//! The user's item again, minus the attributes that the macros consume. Nothing else of it changes.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt as _, quote};
use syn::{Attribute, FnArg, Signature};

use super::{Block, Function, Member};
use crate::attr::{foreign, is};
use crate::tokens::mentions;

/// What becomes of a function: its body, and the attribute that went into that.
pub(crate) struct Rewritten<'a> {
    pub(crate) body: TokenStream,
    pub(crate) consumed: Option<&'a Attribute>,
}

impl Block {
    /// The block, with other bodies where `rewrite` gives them.
    pub(crate) fn rewritten<'a>(&self, rewrite: impl Fn(&Function) -> Option<Rewritten<'a>>) -> TokenStream {
        let members = self.members.iter().map(|member| match member {
            Member::Function(function) => match rewrite(function) {
                Some(rewritten) => function.rewritten(&rewritten),
                None => function.to_token_stream(),
            },
            other => other.to_token_stream(),
        });
        let (head, braces) = (&self.head, regrouped(&self.braces, quote!(#(#members)*)));
        quote!(#head #braces)
    }
}

impl ToTokens for Block {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.rewritten(|_| None));
    }
}

impl ToTokens for Member {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Function(function) => function.to_tokens(tokens),
            Self::Other(other) => other.to_tokens(tokens),
            Self::Broken(broken, _) => without_ours(broken.clone()).to_tokens(tokens),
        }
    }
}

impl Function {
    /// The function with another body.
    pub(crate) fn rewritten(&self, rewritten: &Rewritten) -> TokenStream {
        let is_kept = |attr: &&Attribute| !rewritten.consumed.is_some_and(|consumed| std::ptr::eq(consumed, *attr));
        let head = self.head(is_kept);
        let body = &rewritten.body;
        quote!(#head #body)
    }

    /// Everything before the body.
    fn head(&self, is_kept: impl Fn(&&Attribute) -> bool) -> TokenStream {
        let attrs = self.attrs.iter().filter(|attr| !is_consumed(attr)).filter(is_kept);
        let (vis, defaultness, sig) = (&self.vis, &self.defaultness, stripped(&self.sig));
        quote!(#(#attrs)* #vis #defaultness #sig)
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.head(|_| true).to_tokens(tokens);
        self.body.to_tokens(tokens);
    }
}

/// Attributes of a method that are ours.
fn is_consumed(attr: &Attribute) -> bool {
    let is_ours = ["tool", "setup", "close"].iter().any(|name| is(attr, name));
    // Refused when it was read, and unknown to rustc.
    is_ours || attr.path().is_ident("cfg_attr") && mentions(&attr.meta, "tool")
}

/// The same for what does not parse, lest rustc complains about our attributes too.
fn without_ours(tokens: TokenStream) -> TokenStream {
    let mut left = TokenStream::new();
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Punct(hash) if hash.as_char() == '#' && trees.next_if(is_ours).is_some() => {}
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                let inner = without_ours(group.stream());
                // A group that is made anew blames the whole of itself for a mistake at its end.
                let is_same = inner.clone().into_iter().count() == group.stream().into_iter().count();
                left.append(if is_same { group } else { regrouped(&group, inner) });
            }
            other => left.append(other),
        }
    }
    left
}

fn regrouped(group: &Group, inner: TokenStream) -> Group {
    let mut made = Group::new(group.delimiter(), inner);
    made.set_span(group.span());
    made
}

/// Whether these are the brackets of one of our attributes.
fn is_ours(tree: &TokenTree) -> bool {
    let TokenTree::Group(group) = tree else { return false };
    let first = group.stream().into_iter().next();
    let ours = ["tool", "setup", "close", "arg", "context"];
    matches!(first, Some(TokenTree::Ident(word)) if ours.iter().any(|name| word == name))
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
