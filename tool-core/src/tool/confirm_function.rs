//! The function of `confirm = function`, checked so that another signature has a message of its
//! own.

use crate::call::approval_reason::ApprovalNeed;
use std::marker::PhantomData;

/// A stand-in for a function, on which method resolution finds out whether it decides by arguments
/// of type `A`.
pub struct ConfirmFunction<A, F>(PhantomData<fn(&A) -> F>);

/// Creates the stand-in of a function.
pub fn confirm_function<A, F>(_: &F) -> ConfirmFunction<A, F> {
    ConfirmFunction(PhantomData)
}

/// A function that decides.
pub struct IsConfirmFunction;

/// Anything else.
pub struct IsNoConfirmFunction;

/// Finds a function that decides.
pub trait ConfirmKind {
    /// Returns the marker.
    fn __tool_confirms(&self) -> IsConfirmFunction {
        IsConfirmFunction
    }
}

/// Finds anything.
pub trait NoConfirmKind {
    /// Returns the marker.
    fn __tool_confirms(&self) -> IsNoConfirmFunction {
        IsNoConfirmFunction
    }
}

/// Decides by arguments of type `A`, with the answer in any of its forms.
pub trait Decides<A> {
    /// Decides.
    fn decide(self, args: &A) -> ApprovalNeed;
}

impl<A, F: Fn(&A) -> N, N: Into<ApprovalNeed>> Decides<A> for F {
    fn decide(self, args: &A) -> ApprovalNeed {
        self(args).into()
    }
}

impl<A, F: Decides<A>> ConfirmKind for &ConfirmFunction<A, F> {}
impl<A, F> NoConfirmKind for ConfirmFunction<A, F> {}

impl IsConfirmFunction {
    /// Calls the function.
    pub fn confirms<A, F: Decides<A>>(self, function: F, args: &A) -> ApprovalNeed {
        function.decide(args)
    }
}

impl IsNoConfirmFunction {
    /// Fails to compile, with the message of [`DecidesByArguments`].
    pub fn confirms<A, F: DecidesByArguments<A>>(self, _: F, _: &A) -> ApprovalNeed {
        ApprovalNeed::Yes
    }
}

/// A function of `confirm`. Nothing implements it, because it is asked of other things only.
#[diagnostic::on_unimplemented(
    message = "`confirm` takes a function of the arguments, `fn(&{A}) -> bool`",
    label = "this is no such function",
    note = "write `args = Name` beside `confirm`, which makes the struct of the arguments nameable, and let the function take `&Name`"
)]
pub trait DecidesByArguments<A> {}
