//! The conversion of a method's return value into a response, chosen by the traits of its type.
//!
//! Method resolution makes the choice. A [`Probe`] stands for a type. It has levels, each of which
//! dereferences to the next one, and a level has a method for the types of its bounds. Resolution
//! looks at the first level first, so the most specific conversion comes first. An alias of
//! `Result` counts as a `Result`; another type of that name does not.
//!
//! A [`Conversion`] has levels too, and makes three choices: how the returned value is split into a
//! success and an error, what becomes of the success, and what becomes of the error. It has no
//! data, so none of this costs a call anything.

use crate::call::error::{IntoToolError, ToolError, with_causes};
use crate::call::output::{BoundedArray, IntoToolOutput, encode_owned, encode_tree};
use crate::tool::invocation::{Execution, Invocation, ToolResult};
use crate::trace::body::{
    AgentSpan, BodySpan, ReturnedSpan, SpanEnding, TracedFunction, open_tool,
};
use crate::trace::instrumented::Instrumented;
use crate::trace::record::SpanEnd;
use crate::trace::span::is_wanted;
use futures_core::Stream;
use futures_util::TryStreamExt;
use futures_util::stream::MapErr;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use std::convert::Infallible;
use std::error::Error;
use std::fmt::Display;
use std::future::{Ready, ready};
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::time::Duration;
use tokio::time::Instant;

/// A stand-in for a type, on which method resolution chooses a conversion.
pub struct Probe<T, const LEVEL: u8 = 0>(PhantomData<fn() -> T>);

#[allow(clippy::new_without_default)] // only macros create probes
impl<T> Probe<T> {
    /// Creates the probe of a value's type.
    #[inline]
    pub fn of(_: &T) -> Self {
        Self(PhantomData)
    }

    /// Creates the probe of a type.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

/// Creates the probe of a type.
#[must_use]
pub const fn of_type<T>() -> Probe<T> {
    Probe(PhantomData)
}

/// The conversion of a return value into a response, of which each step replaces a type by the
/// marker of its conversion: `S` is the returned type, then the way in which it is split; `V` the
/// type of a success, then its conversion; `E` the type of an error, then its conversion.
#[must_use]
#[allow(clippy::type_complexity, reason = "three markers, each with a name")]
pub struct Conversion<S, V = (), E = (), const LEVEL: u8 = 0>(PhantomData<fn() -> (S, V, E)>);

impl<T> Conversion<T> {
    /// Begins with a value's type.
    #[inline]
    pub fn of(_: &T) -> Self {
        Self(PhantomData)
    }
}

macro_rules! levels {
    ($($level:literal -> $next:literal),*) => {$(
        impl<T> Deref for Probe<T, $level> {
            type Target = Probe<T, $next>;

            #[inline]
            fn deref(&self) -> &Self::Target {
                &Probe(PhantomData)
            }
        }

        impl<S, V, E> Deref for Conversion<S, V, E, $level> {
            type Target = Conversion<S, V, E, $next>;

            #[inline]
            fn deref(&self) -> &Self::Target {
                &Conversion(PhantomData)
            }
        }
    )*};
}

levels! { 0 -> 1, 1 -> 2, 2 -> 3, 3 -> 4, 4 -> 5, 5 -> 6, 6 -> 7 }

/// Declares conversions: for each a marker, and the method and level of a probe that return the
/// marker.
macro_rules! probe {
    ($($(#[$doc:meta])* $method:ident -> $tag:ident, $level:literal [$($generics:tt)*] $type:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $tag;

        impl<$($generics)*> $crate::tool::returns::Probe<$type, $level> {
            $(#[$doc])*
            #[inline]
            #[must_use]
            pub fn $method(&self) -> $tag {
                $tag
            }
        }
    )*};
}
pub(crate) use probe;

probe! {
    /// A `Result`.
    __tool_split -> IsResult, 0 [T, E] Result<T, E>;
    /// A value of any other type.
    __tool_split -> IsPlain, 1 [T] T;
}

impl<T, E> Conversion<Result<T, E>> {
    /// A `Result`.
    #[inline]
    pub fn __split(&self) -> Conversion<IsResult, T, E> {
        Conversion(PhantomData)
    }
}

impl<T> Conversion<T, (), (), 1> {
    /// A value of any other type.
    #[inline]
    pub fn __split(&self) -> Conversion<IsPlain, T, Infallible> {
        Conversion(PhantomData)
    }
}

/// Declares the conversions of successes, each with its marker and level.
macro_rules! values {
    ($($(#[$doc:meta])* $tag:ident, $level:literal [$($generics:tt)*] $type:ty;)*) => {$(
        $(#[$doc])*
        pub struct $tag;

        impl<S, F, $($generics)*> Conversion<S, $type, F, $level> {
            $(#[$doc])*
            #[inline]
            pub fn __value(&self) -> Conversion<S, $tag, F> {
                Conversion(PhantomData)
            }
        }
    )*};
}

values! {
    /// A result that is not plain data.
    IsOutput, 0 [T: IntoToolOutput] T;
    /// A JSON value, which may be nested deeply.
    IsTree, 1 [] Value;
    /// A stream of partial results, or errors whose text was written for the model.
    IsToolErrorStream, 2 [T: Stream<Item = Result<V, E>>, V, E: IntoToolError] T;
    /// A stream of partial results, or errors of a library.
    IsForeignStream, 3 [T: Stream<Item = Result<V, E>>, V, E: Into<Box<dyn Error + Send + Sync>>] T;
    /// A stream of partial results, or errors that are only displayed.
    IsDisplayStream, 4 [T: Stream<Item = Result<V, E>>, V, E: Display] T;
    /// A stream of partial results, or errors without a text.
    IsUnknownStream, 5 [T: Stream<Item = Result<V, E>>, V, E] T;
    /// A stream of partial results.
    IsStream, 6 [T: Stream] T;
    /// Plain data.
    IsData, 7 [T] T;
}

/// Declares the conversions of errors, each with its marker and level.
macro_rules! errors {
    ($($(#[$doc:meta])* $tag:ident, $level:literal [$($generics:tt)*];)*) => {$(
        $(#[$doc])*
        pub struct $tag;

        impl<S, V, $($generics)*> Conversion<S, V, E, $level> {
            $(#[$doc])*
            #[inline]
            pub fn __error(&self) -> Conversion<S, V, $tag> {
                Conversion(PhantomData)
            }
        }
    )*};
}

errors! {
    /// An error whose text was written for the model.
    IsToolError, 0 [E: IntoToolError];
    /// An error of a library.
    IsForeign, 1 [E: Into<Box<dyn Error + Send + Sync>>];
    /// An error that is only displayed.
    IsDisplay, 2 [E: Display];
    /// An error without a text.
    IsUnknown, 3 [E];
}

/// The way in which a returned value is split into a success and an error.
pub trait SplitsReturn<T> {
    /// The type of a success.
    type Success;
    /// The type of an error.
    type Error;

    /// Splits the value.
    fn into_result(value: T) -> Result<Self::Success, Self::Error>;
}

impl<T, E> SplitsReturn<Result<T, E>> for IsResult {
    type Success = T;
    type Error = E;

    #[inline]
    fn into_result(value: Result<T, E>) -> Result<T, E> {
        value
    }
}

impl<T> SplitsReturn<T> for IsPlain {
    type Success = T;
    type Error = Infallible;

    #[inline]
    fn into_result(value: T) -> Result<T, Infallible> {
        Ok(value)
    }
}

/// The conversion of a success into an [`Execution`].
pub trait AnswersWith<'a, T> {
    /// Converts the value.
    fn answer(value: T, call: Invocation<'a>) -> Execution<'a>;
}

/// The conversion of an error into the model's.
pub trait FailsWith<E> {
    /// Converts the error.
    fn failure(error: E) -> ToolError;
}

impl<S, V, E> Conversion<S, V, E> {
    /// Converts a return value into an [`Execution`].
    #[inline]
    pub fn answer<'a, T>(self, value: T, call: Invocation<'a>) -> Execution<'a>
    where
        S: SplitsReturn<T>,
        V: AnswersWith<'a, S::Success>,
        E: FailsWith<S::Error>,
    {
        Self::convert(value, call)
    }

    /// See [`answer`](Self::answer).
    #[inline]
    pub(crate) fn convert<'a, T>(value: T, call: Invocation<'a>) -> Execution<'a>
    where
        S: SplitsReturn<T>,
        V: AnswersWith<'a, S::Success>,
        E: FailsWith<S::Error>,
    {
        match S::into_result(value) {
            Ok(value) => V::answer(value, call),
            Err(error) => Execution::failed(E::failure(error)),
        }
    }

    /// Splits a return value, and converts its error.
    #[inline]
    pub fn outcome<T>(self, value: T) -> Result<S::Success, ToolError>
    where
        S: SplitsReturn<T>,
        E: FailsWith<S::Error>,
    {
        S::into_result(value).map_err(E::failure)
    }
}

impl<T, E> Conversion<IsResult, T, E> {
    /// Converts the error of a `Result`.
    pub fn with_errors(
        self,
        value: Result<T, E>,
        convert: impl FnOnce(E) -> ToolError,
    ) -> Result<T, ToolError> {
        value.map_err(convert)
    }
}

impl<T> Conversion<IsPlain, T, Infallible> {
    /// Converts the errors of a stream.
    pub fn with_errors<V, E, F>(self, stream: T, convert: F) -> MapErr<T, F>
    where
        T: Stream<Item = Result<V, E>>,
        F: FnMut(E) -> ToolError,
    {
        stream.map_err(convert)
    }
}

impl<E> Conversion<(), (), E> {
    /// Begins with the type of an error.
    #[inline]
    pub fn of_error(_: &E) -> Self {
        Self(PhantomData)
    }

    /// Converts an error.
    pub fn failure<T>(self, error: T) -> ToolError
    where
        E: FailsWith<T>,
    {
        E::failure(error)
    }
}

impl<'a, T: IntoToolOutput> AnswersWith<'a, T> for IsOutput {
    /// Converts the value itself.
    #[inline]
    fn answer(value: T, _: Invocation<'a>) -> Execution<'a> {
        Execution::Done(Ok(value.into_tool_output()))
    }
}

impl<'a> AnswersWith<'a, Value> for IsTree {
    /// Serialises the value. A value that is nested too deeply for recursion is dropped
    /// iteratively.
    fn answer(value: Value, call: Invocation<'a>) -> Execution<'a> {
        Execution::Done(encode_tree(value, call.0.output_bytes))
    }
}

impl<'a, T: Returned> AnswersWith<'a, T> for IsData {
    /// Serialises the value.
    #[inline]
    fn answer(value: T, call: Invocation<'a>) -> Execution<'a> {
        Execution::Done(encode_owned(value, call.0.output_bytes))
    }
}

impl<'a, T> AnswersWith<'a, T> for IsStream
where
    T: Stream<Item: Serialize> + Send + 'a,
{
    /// Collects the items into a list, and reports each one as progress.
    fn answer(stream: T, call: Invocation<'a>) -> Execution<'a> {
        Execution::pending(async move { Execution::Done(collect(stream, call, Ok).await) })
    }
}

/// Implements the conversions of streams of results: each marker, and that of its errors.
macro_rules! result_streams {
    ($($tag:ident: $bound:path, $error:ident;)*) => {$(
        impl<'a, T, V, E> AnswersWith<'a, T> for $tag
        where
            T: Stream<Item = Result<V, E>> + Send + 'a,
            V: Serialize,
            E: $bound,
        {
            /// Collects the items into a list up to the first error, which fails the call, and
            /// reports each one as progress.
            fn answer(stream: T, call: Invocation<'a>) -> Execution<'a> {
                let value = |item: Result<V, E>| item.map_err($error::failure);
                Execution::pending(async move { Execution::Done(collect(stream, call, value).await) })
            }
        }
    )*};
}

result_streams! {
    IsToolErrorStream: IntoToolError, IsToolError;
    IsForeignStream: Into<Box<dyn Error + Send + Sync>>, IsForeign;
    IsDisplayStream: Display, IsDisplay;
    // Does not compile, with the message of `IntoToolError`.
    IsUnknownStream: IntoToolError, IsUnknown;
}

/// The time for which a stream that is always ready keeps its task.
const SLICE: Duration = Duration::from_millis(1);

/// Collects a stream, up to the first item that has no `value`. It is dropped once the list exceeds
/// its limit, because later items would be cut anyway. A stream that is always ready is interrupted
/// between items, so that deadlines and cancellation reach it.
async fn collect<T: Stream, V: Serialize>(
    stream: T,
    call: Invocation<'_>,
    value: impl Fn(T::Item) -> Result<V, ToolError>,
) -> ToolResult {
    let bytes = call.0.output_bytes;
    let mut stream = pin!(stream);
    let mut list = BoundedArray::new(bytes);
    let mut resumed = Instant::now();
    let encode = |item| value(item).and_then(|value| encode_owned(value, bytes)?.data);
    while let Some(item) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx))
        .await
        .map(encode)
    {
        let item = match item {
            Ok(item) => item,
            Err(error) => return Ok(list.fail(error)),
        };
        call.0.reporting.progress().message(&*item);
        if !list.push(&item) {
            break;
        }
        if resumed.elapsed() >= SLICE {
            tokio::task::yield_now().await;
            resumed = Instant::now();
        }
    }
    Ok(list.finish())
}

impl<E: IntoToolError> FailsWith<E> for IsToolError {
    /// Converts the error itself.
    #[inline]
    fn failure(error: E) -> ToolError {
        error.into_tool_error()
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> FailsWith<E> for IsForeign {
    /// Creates an internal error, whose text with all causes goes to the log.
    #[inline]
    fn failure(error: E) -> ToolError {
        foreign(error.into().as_ref())
    }
}

impl<E: Display> FailsWith<E> for IsDisplay {
    /// Creates an internal error, whose text goes to the log.
    #[inline]
    fn failure(error: E) -> ToolError {
        ToolError::internal(error.to_string())
    }
}

impl<E: IntoToolError> FailsWith<E> for IsUnknown {
    /// Does not compile: what has this marker does not implement [`IntoToolError`], whose message
    /// the compiler prints.
    #[inline]
    fn failure(error: E) -> ToolError {
        error.into_tool_error()
    }
}

#[cold]
fn foreign(error: &(dyn Error + 'static)) -> ToolError {
    ToolError::internal(with_causes(error))
}

/// A type that a tool may return as plain data.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool's result",
    label = "this tool returns `{Self}`",
    note = "a result implements `serde::Serialize`, or is `ToolOutput`, `Content` or a stream; write `#[tool_core::tool_type]` above a type of your own, or derive it"
)]
pub trait Returned: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Returned for T {}

/// Converts any error into a `ToolError`.
#[doc(hidden)]
#[macro_export]
macro_rules! __failure {
    ($error:ident) => {
        $crate::__private::Conversion::of_error(&$error)
            .__error()
            .failure($error)
    };
}

/// Makes the text of any error of a result, or of a stream of results, the model's.
#[doc(hidden)]
#[macro_export]
macro_rules! __shown {
    ($value:ident) => {
        $crate::__private::Conversion::of(&$value)
            .__split()
            .with_errors($value, |__tool_error| {
                $crate::__failure!(__tool_error).shown()
            })
    };
}

/// Converts the return value of a `#[setup]` or `#[close]` method into a `Result<(), ToolError>`.
#[doc(hidden)]
#[macro_export]
macro_rules! __outcome {
    ($value:expr) => {
        match $value {
            __tool_value => $crate::__private::Conversion::of(&__tool_value)
                .__split()
                .__error()
                .outcome(__tool_value)
                .map(::core::mem::drop),
        }
    };
}

impl<T: JsonSchema, E> Probe<Result<T, E>, 0> {
    /// Generates the schema of the success of a `Result`.
    pub fn __schema(&self, generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(T::json_schema(generator))
    }
}

impl<T: JsonSchema> Probe<T, 1> {
    /// Generates the schema of a returned type.
    pub fn __schema(&self, generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(T::json_schema(generator))
    }
}

impl<T> Probe<T, 2> {
    /// Returns nothing, because the type has no schema.
    pub fn __schema(&self, _: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

impl<T, E> SpanEnding<Result<T, E>> for IsResult {
    #[inline]
    fn end(value: &Result<T, E>) -> SpanEnd {
        SpanEnd::of_result(value)
    }
}

impl<T> SpanEnding<T> for IsPlain {
    #[inline]
    fn end(_: &T) -> SpanEnd {
        SpanEnd::default()
    }
}

/// A body that returns a `T`. If that is a `Result`, the span of the body may end with its error.
///
/// Method resolution finds the methods for a `Result` before those of [`PlainBody`].
pub struct Body<T>(PlainBody<T>);

/// A body that returns no `Result`.
#[derive(Clone, Copy)]
pub struct PlainBody<T>(PhantomData<fn() -> T>);

/// Describes the body of a function that returns a `T`.
#[must_use]
pub const fn body<T>() -> Body<T> {
    Body(PlainBody(PhantomData))
}

/// Describes the body of a function whose type cannot be written, because it returns `impl Trait`.
#[must_use]
pub const fn hidden_body<T>() -> PlainBody<T> {
    PlainBody(PhantomData)
}

impl<T> Deref for Body<T> {
    type Target = PlainBody<T>;

    #[inline]
    fn deref(&self) -> &PlainBody<T> {
        &self.0
    }
}

/// Ends a span well.
fn ends_well<T>(_: &T) -> SpanEnd {
    SpanEnd::default()
}

impl<T, E> Body<Result<T, E>> {
    /// Opens the span of a tool's body.
    #[inline]
    pub fn __tool_span(&self, function: TracedFunction) -> BodySpan<Result<T, E>> {
        tool_span(function, SpanEnd::of_result)
    }

    /// Opens the span of an async agent's body.
    #[inline]
    pub fn __agent_span(&self, name: &'static str) -> AgentSpan<Result<T, E>> {
        AgentSpan::open(name, SpanEnd::of_result)
    }
}

impl<T> PlainBody<T> {
    /// Opens the span of a tool's body.
    #[inline]
    pub fn __tool_span(&self, function: TracedFunction) -> BodySpan<T> {
        tool_span(function, ends_well)
    }

    /// Opens the span of an async agent's body.
    #[inline]
    pub fn __agent_span(&self, name: &'static str) -> AgentSpan<T> {
        AgentSpan::open(name, ends_well)
    }
}

/// Opens the span of a tool's body.
#[inline]
fn tool_span<T>(function: TracedFunction, ending: fn(&T) -> SpanEnd) -> BodySpan<T> {
    let span = if is_wanted() {
        open_tool(function)
    } else {
        None
    };
    BodySpan::new(span, ending)
}

/// Describes the function with this path in the module, for the span of its body.
#[doc(hidden)]
#[macro_export]
macro_rules! __function {
    ($path:literal) => {
        const { $crate::__private::function($crate::__path!($path)) }
    };
    ($path:literal, $tool:literal) => {
        const { $crate::__private::function($crate::__path!($path)).named($tool) }
    };
}

/// Writes the path of an item of the module.
#[doc(hidden)]
#[macro_export]
macro_rules! __path {
    ($path:literal) => {
        ::core::concat!(::core::module_path!(), $path)
    };
}

probe! {
    /// Any future, if the signature hides its type.
    __tool_future -> IsFuture, 0 [F: Future] F;
    /// A boxed future, as `async_trait` writes it.
    __tool_goes_on -> IsBoxed, 0 [T: Boxed] T;
    /// A value that is not a future.
    __tool_goes_on -> IsOver, 1 [T] T;
}

impl<T> Probe<T, 1> {
    /// A value that is not a future.
    #[inline]
    #[must_use]
    pub fn __tool_future(&self) -> IsOver {
        IsOver
    }
}

/// A boxed future, which can be boxed again together with its span.
pub trait Boxed: Future + Sized {
    /// Wraps the future in the span.
    #[must_use]
    fn in_span(self, span: ReturnedSpan, ending: fn(&Self::Output) -> SpanEnd) -> Self;
}

impl<'a, T: 'a> Boxed for Pin<Box<dyn Future<Output = T> + Send + 'a>> {
    fn in_span(self, span: ReturnedSpan, ending: fn(&T) -> SpanEnd) -> Self {
        Box::pin(Instrumented::with_span(span.0, self, ending))
    }
}

impl<'a, T: 'a> Boxed for Pin<Box<dyn Future<Output = T> + 'a>> {
    fn in_span(self, span: ReturnedSpan, ending: fn(&T) -> SpanEnd) -> Self {
        Box::pin(Instrumented::with_span(span.0, self, ending))
    }
}

impl IsFuture {
    /// Returns the future.
    pub fn into_future<F: Future>(self, future: F) -> F {
        future
    }

    /// Returns the probe of the future's output, which decides how the span ends.
    pub fn outcome<F: Future>(&self, _: &F) -> Probe<F::Output> {
        Probe::new()
    }

    /// Hands the span to the future.
    pub fn finish<F: Future>(
        self,
        future: F,
        span: ReturnedSpan,
        ending: fn(&F::Output) -> SpanEnd,
    ) -> Instrumented<F> {
        Instrumented::with_span(span.0, future, ending)
    }
}

impl IsBoxed {
    /// Returns the probe of the future's output, which decides how the span ends.
    pub fn outcome<F: Boxed>(&self, _: &F) -> Probe<F::Output> {
        Probe::new()
    }

    /// Hands the span to the future.
    pub fn finish<F: Boxed>(
        self,
        future: F,
        span: ReturnedSpan,
        ending: fn(&F::Output) -> SpanEnd,
    ) -> F {
        future.in_span(span, ending)
    }
}

impl IsOver {
    /// Returns a future of the value.
    pub fn into_future<T>(self, value: T) -> Ready<T> {
        ready(value)
    }

    /// Returns the probe of the value, which decides how the span ends.
    pub fn outcome<T>(&self, _: &T) -> Probe<T> {
        Probe::new()
    }

    /// Closes the span.
    #[inline]
    pub fn finish<T>(self, value: T, span: ReturnedSpan, ending: fn(&T) -> SpanEnd) -> T {
        if let Some(span) = span.0 {
            span.close(ending(&value));
        }
        value
    }
}

/// Closes the span of a body that has returned a value, or hands it to the future that the body
/// returned.
#[doc(hidden)]
#[macro_export]
macro_rules! __finish {
    () => {
        $crate::__finish!(__tool_goes_on)
    };
    (future) => {
        $crate::__finish!(__tool_future)
    };
    ($kind:ident) => {
        // A block around the closure would take the expected type from it. Its parameters have
        // names of their own.
        |__tool_agent_value, __tool_agent_span| {
            #[allow(unused_imports)]
            use $crate::__private::SpanEnding as _;
            #[allow(unused_imports)]
            use $crate::__private::locals::*;
            let __tool_kind = $crate::__private::Probe::of(&__tool_agent_value).$kind();
            let __tool_ending = __tool_kind
                .outcome(&__tool_agent_value)
                .__tool_split()
                .ending();
            __tool_kind.finish(__tool_agent_value, __tool_agent_span, __tool_ending)
        }
    };
}
