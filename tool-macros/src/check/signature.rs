//! The rules for signatures.

use quote::ToTokens;
use syn::{GenericParam, Generics, Receiver, ReceiverKind, Safety, Type};

use crate::attr::agent::is_agent;
use crate::errors::Errors;
use crate::input::FunctionItem;
use crate::model::toolset::Tool;
use crate::tokens::mentions;

/// Returns whether the function is free, and reports it if it is not.
pub(super) fn is_free(tool: &Tool, errors: &mut Errors) -> bool {
    let sig = &tool.function.sig;
    let shown = tool.kind.shown();
    let noun = tool.kind.name();
    let message = format!(
        "`{shown}` on a method needs `#[toolset]` on its `impl` block\nhelp: add `#[toolset]` above the `impl`"
    );
    if let Some(receiver) = sig.receiver() {
        errors.report(bare(receiver), message);
        return false;
    }
    let of_impl = tool.function.defaultness.is_some()
        || mentions(&sig.inputs, "Self")
        || mentions(&sig.output, "Self");
    if of_impl {
        errors.report(&sig.ident, message);
    } else if !tool.function.has_body() {
        errors.report(&sig.ident, format!("a method of a trait cannot be a {noun}\nhelp: put `#[toolset]` on an inherent `impl`, and call the trait's method from there"));
    }
    !of_impl && tool.function.has_body()
}

/// Requires `&self`, as calls may run concurrently.
pub(super) fn receiver_is_shared(tool: &Tool, errors: &mut Errors) {
    let Some(receiver) = tool.function.sig.receiver() else {
        return;
    };
    if is_shared(receiver) {
        return;
    }
    let shown = tool.kind.shown();
    let message = match &receiver.kind {
        ReceiverKind::Reference(_, Some(_), None) => {
            "methods take `&self` without a lifetime\nhelp: write `&self`"
        }
        ReceiverKind::Reference(..) => {
            "methods take `&self`, because calls may run concurrently\nhelp: put the mutable state behind a `Mutex`"
        }
        _ => {
            "methods take `&self`, because the toolset serves many calls\nhelp: take `&self`, and clone the values that the call has to own"
        }
    };
    errors.report(bare(receiver), format!("`{shown}` {message}"));
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

/// Returns the receiver without its attributes.
fn bare(receiver: &Receiver) -> Receiver {
    Receiver {
        attrs: Vec::new(),
        ..receiver.clone()
    }
}

/// Refuses generic parameters, as a tool has one schema.
pub(super) fn is_not_generic(tool: &Tool, errors: &mut Errors) {
    for param in &tool.function.sig.generics.params {
        let message = match param {
            GenericParam::Lifetime(_) => {
                "functions cannot have lifetime parameters\nhelp: remove them and write `&str`, which lives as long as the call"
            }
            GenericParam::Type(_) => {
                "functions cannot be generic, because a tool has one schema\nhelp: name the type, or put the parameter on the toolset's type"
            }
            GenericParam::Const(_) => {
                "functions cannot be generic, because a tool has one schema\nhelp: use a constant, or put the parameter on the toolset's type"
            }
        };
        errors.report(param, format!("`{}` {message}", tool.kind.shown()));
    }
}

/// Refuses a `where` clause over the parameters of the block. Generated code is outside of the
/// method, and has the bounds of the block only.
pub(super) fn bounds_are_of_the_block(
    function: &FunctionItem,
    block: &Generics,
    shown: &str,
    errors: &mut Errors,
) {
    let Some(clause) = &function.sig.generics.where_clause else {
        return;
    };
    for predicate in &clause.predicates {
        if mentions_generics(predicate, block) {
            errors.report(
                predicate,
                format!(
                    "`{shown}` methods cannot bound the parameters of their block\nhelp: move the bound to the `impl`"
                ),
            );
        }
    }
}

/// Returns whether the tokens mention a type or a constant that the block declares.
pub(super) fn mentions_generics(tokens: impl ToTokens, block: &Generics) -> bool {
    let tokens = tokens.into_token_stream();
    block.params.iter().any(|param| match param {
        GenericParam::Type(param) => mentions(&tokens, &param.ident.to_string()),
        GenericParam::Const(param) => mentions(&tokens, &param.ident.to_string()),
        GenericParam::Lifetime(_) => false,
    })
}

/// Refuses functions that a wrapper cannot call.
pub(super) fn is_plainly_callable(tool: &Tool, errors: &mut Errors) {
    let sig = &tool.function.sig;
    let shown = tool.kind.shown();
    if let Some(constness) = &sig.constness {
        errors.report(
            constness,
            format!("`{shown}` functions cannot be `const`\nhelp: call the `const fn` from a tool"),
        );
    }
    if let Safety::Unsafe(token) = &sig.safety {
        errors.report(token, format!("`{shown}` functions cannot be `unsafe`, because a model cannot uphold their conditions\nhelp: check the conditions in a safe function, and call this function from it"));
    }
    if let Some(abi) = &sig.abi {
        errors.report(
            abi,
            format!(
                "`{shown}` functions cannot be `extern`\nhelp: call the `extern fn` from a tool"
            ),
        );
    }
    if let Some(variadic) = &sig.variadic {
        errors.report(
            variadic,
            format!("`{shown}` functions cannot be variadic\nhelp: take a `Vec`"),
        );
    }
}

/// Checks an agent.
pub(crate) fn check_agent(function: &FunctionItem, errors: &mut Errors) {
    has_a_body(function, errors);
    is_not_const(function, errors);
    is_one_agent(function, errors);
}

/// Requires a body, which the span surrounds.
fn has_a_body(function: &FunctionItem, errors: &mut Errors) {
    if !function.has_body() {
        let message = "`#[agent]` functions need a body\nhelp: put the attribute on the implementations of this method";
        errors.report(function.ident(), message);
    }
}

/// Refuses a `const fn`, as a span opens at run time.
fn is_not_const(function: &FunctionItem, errors: &mut Errors) {
    if let Some(constness) = &function.sig.constness {
        errors.report(
            constness,
            "`#[agent]` functions cannot be `const`\nhelp: call the `const fn` from an agent",
        );
    }
}

/// Refuses a second `#[agent]`.
fn is_one_agent(function: &FunctionItem, errors: &mut Errors) {
    for again in function.attrs.iter().filter(|attr| is_agent(attr, None)) {
        errors.report(
            again,
            "duplicate `#[agent]` attribute\nhelp: remove one of them",
        );
    }
}
