//! What a method returns, sorted by trait.
//!
//! `respond!` asks for the most particular treatment first and lets method resolution fall back to the next: a
//! probe behind more references is found before one behind fewer. So `Result` counts through an alias, and a type
//! that is merely called `Result` does not.

use super::{Call, Invocation, Outcome};
use crate::response::{IntoToolError, IntoToolOutput, List, ToolError, encode, encode_tree};
use futures_core::Stream;
use serde::Serialize;
use serde_json::Value;
use std::convert::Infallible;
use std::error::Error;
use std::fmt::Display;
use std::marker::PhantomData;
use std::pin::pin;

/// Stands for a type while method resolution decides what is done with its values.
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// The probe of a value's type.
    #[inline]
    pub fn of(_: &T) -> Self {
        Self(PhantomData)
    }

    /// The probe of a type.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Probe<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Declares one way of treatment: its tag, and the trait by which method resolution finds it.
macro_rules! probe {
    ($($(#[$doc:meta])* $trait:ident.$method:ident -> $tag:ident, [$($depth:tt)*];)*) => {
        $($(#[$doc])*
        pub struct $tag;

        $(#[$doc])*
        pub trait $trait {
            /// The way to treat it.
            #[inline]
            fn $method(&self) -> $tag {
                $tag
            }
        }

        impl $($depth)* {})*
    };
}

pub(super) use probe;

probe! {
    /// A `Result`.
    ResultKind.__tool_split -> IsResult, [<T, E> ResultKind for &Probe<Result<T, E>>];
    /// Anything else.
    PlainKind.__tool_split -> IsPlain, [<T> PlainKind for Probe<T>];
    /// A result with more than data.
    OutputKind.__tool_value -> IsOutput, [<T: IntoToolOutput> OutputKind for &&&Probe<T>];
    /// A JSON value, however deep.
    TreeKind.__tool_value -> IsTree, [TreeKind for &&Probe<Value>];
    /// A stream of partial results.
    StreamKind.__tool_value -> IsStream, [<T: Stream> StreamKind for &Probe<T>];
    /// Plain data.
    DataKind.__tool_value -> IsData, [<T> DataKind for Probe<T>];
    /// An error that says what the model should read.
    ToldKind.__tool_error -> IsTold, [<E: IntoToolError> ToldKind for &&&Probe<E>];
    /// An error of some library.
    ForeignKind.__tool_error -> IsForeign, [<E: Into<Box<dyn Error + Send + Sync>>> ForeignKind for &&Probe<E>];
    /// An error that at least has a text.
    DisplayKind.__tool_error -> IsDisplay, [<E: Display> DisplayKind for &Probe<E>];
    /// An error of which nothing is known.
    UnknownKind.__tool_error -> IsUnknown, [<E> UnknownKind for Probe<E>];
}

impl IsResult {
    /// The same.
    #[inline]
    pub fn apart<T, E>(self, value: Result<T, E>) -> Result<T, E> {
        value
    }
}

impl IsPlain {
    /// A success.
    #[inline]
    pub fn apart<T>(self, value: T) -> Result<T, Infallible> {
        Ok(value)
    }
}

impl IsOutput {
    /// As the type itself says.
    #[inline]
    pub fn answer<T: IntoToolOutput>(self, value: T, _: Call<'_>) -> Invocation<'_> {
        Invocation::Done(Ok(value.into_tool_output()))
    }
}

impl IsTree {
    /// Serialised; one that nests too deep to be dropped by recursion is taken apart instead.
    pub fn answer(self, value: Value, call: Call<'_>) -> Invocation<'_> {
        Invocation::Done(encode_tree(value, call.0.output_bytes))
    }
}

impl IsData {
    /// Serialised.
    #[inline]
    pub fn answer<T: Returned>(self, value: T, call: Call<'_>) -> Invocation<'_> {
        Invocation::Done(encode(&value, call.0.output_bytes))
    }
}

impl IsStream {
    /// Collected into a list, each item told as progress when it comes.
    pub fn answer<'a, T>(self, stream: T, call: Call<'a>) -> Invocation<'a>
    where
        T: Stream<Item: Serialize> + Send + 'a,
    {
        super::later(async move { Invocation::Done(collect(stream, call).await) })
    }
}

/// Once the list outgrows the limit the stream is dropped: what comes after would be cut anyway.
async fn collect<T: Stream<Item: Serialize>>(stream: T, call: Call<'_>) -> Outcome {
    let bytes = call.0.output_bytes;
    let mut stream = pin!(stream);
    let mut list = List::new(bytes);
    while let Some(item) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        let item = encode(&item, bytes)?.data?;
        call.0.ctx.progress().message(&*item);
        if !list.push(&item) {
            break;
        }
    }
    Ok(list.finish())
}

impl IsTold {
    /// As the type itself says.
    #[inline]
    pub fn failure<E: IntoToolError>(self, error: E) -> ToolError {
        error.into_tool_error()
    }
}

impl IsForeign {
    /// INTERNAL; the text goes to the log.
    #[inline]
    pub fn failure<E: Into<Box<dyn Error + Send + Sync>>>(self, error: E) -> ToolError {
        foreign(error.into().as_ref())
    }
}

impl IsDisplay {
    /// INTERNAL; the text goes to the log.
    #[inline]
    pub fn failure<E: Display>(self, error: E) -> ToolError {
        ToolError::internal(error.to_string())
    }
}

impl IsUnknown {
    /// Does not compile, and says why.
    #[inline]
    pub fn failure<E: IntoToolError>(self, error: E) -> ToolError {
        error.into_tool_error()
    }
}

#[cold]
fn foreign(error: &(dyn Error + 'static)) -> ToolError {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    ToolError::internal(text)
}

/// What a tool may return as plain data.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool's result",
    label = "this tool returns `{Self}`",
    note = "a result implements `serde::Serialize`, or is `ToolOutput`, `Content` or a stream; derive `Serialize` for it"
)]
pub trait Returned: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Returned for T {}

/// Puts a method's return value into an [`Invocation`].
#[doc(hidden)]
#[macro_export]
macro_rules! __respond {
    ($call:expr, $value:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::TreeKind as _;
        #[allow(unused_imports)]
        use $crate::__private::{DataKind as _, OutputKind as _, PlainKind as _, ResultKind as _, StreamKind as _};
        match $value {
            __tool_value => match (&&$crate::__private::Probe::of(&__tool_value)).__tool_split().apart(__tool_value) {
                ::core::result::Result::Ok(__tool_value) => {
                    (&&&&$crate::__private::Probe::of(&__tool_value)).__tool_value().answer(__tool_value, $call)
                }
                ::core::result::Result::Err(__tool_error) => {
                    $crate::__private::Invocation::Done(::core::result::Result::Err($crate::__failure!(__tool_error)))
                }
            },
        }
    }};
}

/// Makes a `ToolError` of any error.
#[doc(hidden)]
#[macro_export]
macro_rules! __failure {
    ($error:ident) => {{
        #[allow(unused_imports)]
        use $crate::__private::{DisplayKind as _, ForeignKind as _, ToldKind as _, UnknownKind as _};
        (&&&&$crate::__private::Probe::of(&$error)).__tool_error().failure($error)
    }};
}

/// Makes the outcome of a `#[setup]` or `#[close]` of what it returned.
#[doc(hidden)]
#[macro_export]
macro_rules! __outcome {
    ($value:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::{PlainKind as _, ResultKind as _};
        match $value {
            __tool_value => match (&&$crate::__private::Probe::of(&__tool_value)).__tool_split().apart(__tool_value) {
                ::core::result::Result::Ok(_) => $crate::__private::settled(),
                ::core::result::Result::Err(__tool_error) => {
                    ::core::result::Result::Err($crate::__failure!(__tool_error))
                }
            },
        }
    }};
}

/// The outcome of something that has nothing to tell.
pub fn settled() -> Outcome {
    Ok(().into_tool_output())
}
