//! What can be wrapped, for each number of arguments.

use super::{Inner, Label, Runs, Signature, Wrapped, Wraps};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// A function, a closure, or anything else that is called with `A`, a tuple of up to eight.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be wrapped",
    note = "what is wrapped is a function, a closure that borrows nothing, a `Tool`, or what was wrapped before; it takes at most 8 arguments"
)]
pub trait Callable<A> {
    /// What it returns.
    type Out;
    /// Both, for `wrap_tool!` to look at.
    #[doc(hidden)]
    type Signature;

    /// Calls it.
    fn call_with(&self, arguments: A) -> Self::Out;
}

macro_rules! arities {
    ($(($($argument:ident)*))*) => {$(
        impl<F: Fn($($argument),*) -> R, $($argument,)* R> Callable<($($argument,)*)> for F {
            type Out = R;
            type Signature = Signature<($($argument,)*), R>;

            #[allow(non_snake_case)] // an argument is called as its type is
            fn call_with(&self, ($($argument,)*): ($($argument,)*)) -> R {
                self($($argument),*)
            }
        }

        impl<M, $($argument,)*> Wraps<M, ($($argument,)*)> {
            /// The wrapper of a callable.
            #[allow(non_snake_case)]
            pub fn wrap<F, R>(
                self,
                original: F,
                label: Label,
            ) -> Wrapped<F, M, impl Fn($($argument),*) -> M::Out + Clone + 'static, ($($argument,)*)>
            where
                F: Fn($($argument),*) -> R + 'static,
                M: Runs<R>,
            {
                let inner = Arc::new(Inner { spans: label.spans::<F>(), original });
                let own = Arc::clone(&inner);
                let call = move |$($argument),*| M::run(&own.spans, || (own.original)($($argument),*));
                Wrapped { inner, call, kind: PhantomData }
            }
        }

        // A method call would find a field's trait only by way of this, too: `wrapped(1, 2)`.
        impl<F, M, C: Fn($($argument),*) -> R + 'static, $($argument,)* R> Deref
            for Wrapped<F, M, C, ($($argument,)*)>
        {
            type Target = dyn Fn($($argument),*) -> R;

            fn deref(&self) -> &Self::Target {
                &self.call
            }
        }
    )*};
}

arities! { () (A1) (A1 A2) (A1 A2 A3) (A1 A2 A3 A4) (A1 A2 A3 A4 A5) (A1 A2 A3 A4 A5 A6) (A1 A2 A3 A4 A5 A6 A7) (A1 A2 A3 A4 A5 A6 A7 A8) }
