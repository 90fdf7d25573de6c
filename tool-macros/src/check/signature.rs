//! Rules about signatures.

use quote::ToTokens as _;
use syn::{GenericParam, Receiver, ReceiverKind, Safety, Type};

use crate::errors::Errors;
use crate::model::Tool;
use crate::tokens::mentions;

/// `#[tool]` by itself is for free fns. Says whether this is one.
pub(super) fn is_free(tool: &Tool, errors: &mut Errors) -> bool {
    let sig = &tool.function.sig;
    let message =
        "`#[tool]` on a method needs `#[toolset]` on its `impl` block\nhelp: add `#[toolset]` above the `impl`";
    if let Some(receiver) = sig.receiver() {
        errors.report(bare(receiver), message);
        return false;
    }
    let of_impl = tool.function.defaultness.is_some() || mentions(&sig.inputs, "Self") || mentions(&sig.output, "Self");
    if of_impl {
        errors.report(&sig.ident, message);
    } else if !tool.function.has_body() {
        errors.report(&sig.ident, "a trait's method cannot be a tool\nhelp: put `#[toolset]` on an inherent `impl`, and call the trait's method from there");
    }
    !of_impl && tool.function.has_body()
}

/// Only `&self`: calls may run at the same time.
pub(super) fn receiver_is_shared(tool: &Tool, errors: &mut Errors) {
    let Some(receiver) = tool.function.sig.receiver() else { return };
    if is_shared(receiver) {
        return;
    }
    let message = match &receiver.kind {
        ReceiverKind::Reference(_, Some(_), None) => {
            "`#[tool]` methods take `&self` without a lifetime\nhelp: write `&self`; it is lent for the call"
        }
        ReceiverKind::Reference(..) => {
            "`#[tool]` methods take `&self`, because calls may run concurrently\nhelp: put the mutable state behind a `Mutex`"
        }
        _ => {
            "`#[tool]` methods take `&self`, because the toolset serves many calls\nhelp: take `&self`; clone or share what the call has to own"
        }
    };
    errors.report(bare(receiver), message);
}

pub(super) fn is_shared(receiver: &Receiver) -> bool {
    match &receiver.kind {
        ReceiverKind::Reference(_, lifetime, None) => lifetime.is_none(),
        ReceiverKind::Typed(_, ty) => {
            matches!(&**ty, Type::Reference(r) if r.mutability.is_none() && r.elem.to_token_stream().to_string() == "Self")
        }
        _ => false,
    }
}

/// The receiver without its attributes.
fn bare(receiver: &Receiver) -> Receiver {
    Receiver { attrs: Vec::new(), ..receiver.clone() }
}

/// One tool, one schema.
pub(super) fn is_not_generic(tool: &Tool, errors: &mut Errors) {
    for param in &tool.function.sig.generics.params {
        let message = match param {
            GenericParam::Lifetime(_) => {
                "`#[tool]` functions cannot have lifetime parameters\nhelp: leave them out: `&str` and its like are lent for the call"
            }
            GenericParam::Type(_) => {
                "`#[tool]` functions cannot be generic, because a tool has one schema\nhelp: name the type, or put the parameter on the toolset's type"
            }
            GenericParam::Const(_) => {
                "`#[tool]` functions cannot be generic, because a tool has one schema\nhelp: use a constant, or put the parameter on the toolset's type"
            }
        };
        errors.report(param, message);
    }
}

/// What a wrapper can call: safe Rust, known at run time, with its parameters counted.
pub(super) fn is_plainly_callable(tool: &Tool, errors: &mut Errors) {
    let sig = &tool.function.sig;
    if let Some(constness) = &sig.constness {
        errors.report(constness, "`#[tool]` functions cannot be `const`\nhelp: call the `const fn` from a tool");
    }
    if let Safety::Unsafe(token) = &sig.safety {
        errors.report(token, "`#[tool]` functions cannot be `unsafe`: a model is no caller that keeps promises\nhelp: check the conditions in a safe function, and call this one from there");
    }
    if let Some(abi) = &sig.abi {
        errors.report(abi, "`#[tool]` functions cannot be `extern`\nhelp: call the `extern fn` from a tool");
    }
    if let Some(variadic) = &sig.variadic {
        errors.report(variadic, "`#[tool]` functions cannot be variadic\nhelp: take a `Vec`");
    }
}
