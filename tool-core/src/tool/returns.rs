//! What a method returns, sorted by trait.
//!
//! `respond!` asks for the most particular treatment first and lets method resolution fall back to the next: a
//! probe behind more references is found before one behind fewer. So `Result` counts through an alias, and a type
//! that is merely called `Result` does not.

use crate::call::error::{IntoToolError, ToolError};
use crate::call::output::{IntoToolOutput, List, encode, encode_tree};
use crate::tool::invocation;
use crate::tool::invocation::{Call, Invocation, Outcome};
use crate::trace::body::Opened;
use crate::trace::instrumented::Instrumented;
use crate::trace::record::SpanEnd;
use futures_core::Stream;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use std::convert::Infallible;
use std::error::Error;
use std::fmt::Display;
use std::marker::PhantomData;
use std::pin::{Pin, pin};

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
        invocation::later(async move { Invocation::Done(collect(stream, call).await) })
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

// ---- The schema of a result, sorted by trait as its values are.

probe! {
    /// A `Result`, whose success may have a schema.
    ResultSchema.__tool_schema -> ResultOutput, [<T: JsonSchema, E> ResultSchema for &&Probe<Result<T, E>>];
    /// Something with a schema.
    PlainSchema.__tool_schema -> PlainOutput, [<T: JsonSchema> PlainSchema for &Probe<T>];
    /// Something without.
    NoSchema.__tool_schema -> NoOutput, [<T> NoSchema for Probe<T>];
}

impl ResultOutput {
    /// The schema of the success.
    pub fn of<T: JsonSchema, E>(self, generator: &mut SchemaGenerator, _: Probe<Result<T, E>>) -> Option<Schema> {
        Some(T::json_schema(generator))
    }
}

impl PlainOutput {
    /// The schema.
    pub fn of<T: JsonSchema>(self, generator: &mut SchemaGenerator, _: Probe<T>) -> Option<Schema> {
        Some(T::json_schema(generator))
    }
}

impl NoOutput {
    /// None.
    pub fn of<T>(self, _: &mut SchemaGenerator, _: Probe<T>) -> Option<Schema> {
        None
    }
}

/// The schema of a return type, where it has one.
#[doc(hidden)]
#[macro_export]
macro_rules! __output {
    ($generator:expr, $type:ty) => {{
        #[allow(unused_imports)]
        use $crate::__private::{NoSchema as _, PlainSchema as _, ResultSchema as _};
        (&&&$crate::__private::Probe::<$type>::new())
            .__tool_schema()
            .of($generator, $crate::__private::Probe::<$type>::new())
    }};
}

// ---- How the span of a body ends, sorted by the trait of what the body came to, as return values are.

impl IsResult {
    /// An error closes the span as one. S5
    #[inline]
    pub fn ends<T, E>(self) -> fn(&Result<T, E>) -> SpanEnd {
        SpanEnd::of_result
    }
}

impl IsPlain {
    /// Always well.
    #[inline]
    pub fn ends<T>(self) -> fn(&T) -> SpanEnd {
        |_| SpanEnd::default()
    }
}

probe! {
    /// Any future, where the signature hides which: it may be put into another.
    FutureKind.__tool_goes_on -> IsFuture, [<F: Future> FutureKind for &Probe<F>];
    /// A future in a box, as `async_trait` writes it.
    BoxedKind.__tool_goes_on -> IsBoxed, [<T: Boxed> BoxedKind for &Probe<T>];
    /// What is over when the function returns.
    OverKind.__tool_goes_on -> IsOver, [<T> OverKind for Probe<T>];
}

/// A future in a box, which may be put into another such box.
pub trait Boxed: Future + Sized {
    /// With the span around it.
    #[must_use]
    fn inside(self, span: Opened, ends: fn(&Self::Output) -> SpanEnd) -> Self;
}

impl<'a, T: 'a> Boxed for Pin<Box<dyn Future<Output = T> + Send + 'a>> {
    fn inside(self, span: Opened, ends: fn(&T) -> SpanEnd) -> Self {
        Box::pin(Instrumented::with_span(span.0, self, ends))
    }
}

impl<'a, T: 'a> Boxed for Pin<Box<dyn Future<Output = T> + 'a>> {
    fn inside(self, span: Opened, ends: fn(&T) -> SpanEnd) -> Self {
        Box::pin(Instrumented::with_span(span.0, self, ends))
    }
}

impl IsFuture {
    /// What says how it ends: what it comes to.
    pub fn outcome<F: Future>(&self, _: &F) -> Probe<F::Output> {
        Probe::new()
    }

    /// The span goes on with it.
    pub fn finish<F: Future>(self, future: F, span: Opened, ends: fn(&F::Output) -> SpanEnd) -> Instrumented<F> {
        Instrumented::with_span(span.0, future, ends)
    }
}

impl IsBoxed {
    /// What says how it ends: what it comes to.
    pub fn outcome<F: Boxed>(&self, _: &F) -> Probe<F::Output> {
        Probe::new()
    }

    /// The span goes on with it.
    pub fn finish<F: Boxed>(self, future: F, span: Opened, ends: fn(&F::Output) -> SpanEnd) -> F {
        future.inside(span, ends)
    }
}

impl IsOver {
    /// What says how it ends: itself.
    pub fn outcome<T>(&self, _: &T) -> Probe<T> {
        Probe::new()
    }

    /// Closes the span.
    #[inline]
    pub fn finish<T>(self, value: T, span: Opened, ends: fn(&T) -> SpanEnd) -> T {
        if let Some(span) = span.0 {
            span.close(ends(&value));
        }
        value
    }
}

/// The fn of a tool, as its body knows itself: the name in its description, the path in its module.
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($name:expr, $path:literal) => {
        const { $crate::__private::TraceSite::new($name, ::core::concat!(::core::module_path!(), $path)) }
    };
}

/// How the span of a body ends, by what the body came to.
#[doc(hidden)]
#[macro_export]
macro_rules! __ends {
    () => {
        |__tool_value: &_| {
            #[allow(unused_imports)]
            use $crate::__private::{PlainKind as _, ResultKind as _};
            (&&$crate::__private::Probe::of(__tool_value)).__tool_split().ends()(__tool_value)
        }
    };
}

/// Tells a block what it returns: the first `return` decides, and a block cannot be annotated.
#[doc(hidden)]
#[macro_export]
macro_rules! __returns {
    ($type:ty) => {
        if false {
            return $crate::__private::never::<$type>();
        }
    };
}

/// Ends the span of a body that is no future, or hands it on to the future that the body made.
#[doc(hidden)]
#[macro_export]
macro_rules! __finish {
    () => {
        $crate::__finish!(BoxedKind)
    };
    (future) => {
        $crate::__finish!(FutureKind)
    };
    ($kind:ident) => {
        |__tool_value, __tool_span| {
            #[allow(unused_imports)]
            use $crate::__private::{OverKind as _, PlainKind as _, ResultKind as _, $kind as _};
            let __tool_kind = (&&$crate::__private::Probe::of(&__tool_value)).__tool_goes_on();
            let __tool_ends = (&&__tool_kind.outcome(&__tool_value)).__tool_split().ends();
            __tool_kind.finish(__tool_value, __tool_span, __tool_ends)
        }
    };
}
