//! Rules about agents.

use crate::attr::agent::is_agent;
use crate::errors::Errors;
use crate::input::Function;

/// The span is around what the function does.
pub(super) fn has_a_body(function: &Function, errors: &mut Errors) {
    if !function.has_body() {
        let message = "`#[agent]` needs a function with a body\nhelp: put it on the methods that implement this one";
        errors.report(function.ident(), message);
    }
}

/// A span is opened at run time.
pub(super) fn runs(function: &Function, errors: &mut Errors) {
    if let Some(constness) = &function.sig.constness {
        errors.report(constness, "`#[agent]` functions cannot be `const`\nhelp: call the `const fn` from an agent");
    }
}

/// One function, one agent.
pub(super) fn is_one(function: &Function, errors: &mut Errors) {
    for again in function.attrs.iter().filter(|attr| is_agent(attr, None)) {
        errors.report(again, "`#[agent]` is given twice\nhelp: remove one of them");
    }
}
