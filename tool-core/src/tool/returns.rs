//! The conversion of a method's return value into a response, chosen by the traits of its type.
//!
//! Method resolution makes the choice: it finds a probe behind more references before one behind fewer, so the most
//! specific conversion comes first. An alias of `Result` counts as a `Result`; another type of that name does not.

use crate::call::error::{IntoToolError, ToolError, with_causes};
use crate::call::output::{BoundedArray, IntoToolOutput, encode_owned, encode_tree};
use crate::tool::invocation::{Execution, Invocation, ToolResult};
use crate::trace::body::{AgentSpan, BodySpan, ReturnedSpan, SpanEnding, open_tool};
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
use std::pin::{Pin, pin};
use std::time::Duration;
use tokio::time::Instant;

/// A stand-in for a type, on which method resolution chooses a conversion.
pub struct Probe<T>(PhantomData<fn() -> T>);

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

/// Declares conversions: for each a marker, and the trait by which method resolution finds the marker.
macro_rules! probe {
    ($($(#[$doc:meta])* $trait:ident.$method:ident -> $tag:ident, [$($depth:tt)*];)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $tag;

        $(#[$doc])*
        pub trait $trait {
            /// Returns the marker.
            #[inline]
            fn $method(&self) -> $tag {
                $tag
            }
        }

        impl $($depth)* {})*
    };
}
pub(crate) use probe;

probe! {
    /// A `Result`.
    ResultKind.__tool_split -> IsResult, [<T, E> ResultKind for &Probe<Result<T, E>>];
    /// A value of any other type.
    PlainKind.__tool_split -> IsPlain, [<T> PlainKind for Probe<T>];
    /// A result that is not plain data.
    OutputKind.__tool_value -> IsOutput, [<T: IntoToolOutput> OutputKind for &&&&&&&Probe<T>];
    /// A JSON value, which may be nested deeply.
    TreeKind.__tool_value -> IsTree, [TreeKind for &&&&&&Probe<Value>];
    /// A stream of partial results, or errors whose text was written for the model.
    ToolErrorStreamKind.__tool_value -> IsToolErrorStream,
        [<T: Stream<Item = Result<V, E>>, V, E: IntoToolError> ToolErrorStreamKind for &&&&&Probe<T>];
    /// A stream of partial results, or errors of a library.
    ForeignStreamKind.__tool_value -> IsForeignStream,
        [<T: Stream<Item = Result<V, E>>, V, E: Into<Box<dyn Error + Send + Sync>>> ForeignStreamKind for &&&&Probe<T>];
    /// A stream of partial results, or errors that are only displayed.
    DisplayStreamKind.__tool_value -> IsDisplayStream,
        [<T: Stream<Item = Result<V, E>>, V, E: Display> DisplayStreamKind for &&&Probe<T>];
    /// A stream of partial results, or errors without a text.
    UnknownStreamKind.__tool_value -> IsUnknownStream,
        [<T: Stream<Item = Result<V, E>>, V, E> UnknownStreamKind for &&Probe<T>];
    /// A stream of partial results.
    StreamKind.__tool_value -> IsStream, [<T: Stream> StreamKind for &Probe<T>];
    /// Plain data.
    DataKind.__tool_value -> IsData, [<T> DataKind for Probe<T>];
    /// An error whose text was written for the model.
    ToolErrorKind.__tool_error -> IsToolError, [<E: IntoToolError> ToolErrorKind for &&&Probe<E>];
    /// An error of a library.
    ForeignKind.__tool_error -> IsForeign, [<E: Into<Box<dyn Error + Send + Sync>>> ForeignKind for &&Probe<E>];
    /// An error that is only displayed.
    DisplayKind.__tool_error -> IsDisplay, [<E: Display> DisplayKind for &Probe<E>];
    /// An error without a text.
    UnknownKind.__tool_error -> IsUnknown, [<E> UnknownKind for Probe<E>];
}

impl IsResult {
    /// Returns the value.
    #[inline]
    pub fn into_result<T, E>(self, value: Result<T, E>) -> Result<T, E> {
        value
    }

    /// Converts the error.
    pub fn with_errors<T, E>(
        self,
        value: Result<T, E>,
        convert: impl FnOnce(E) -> ToolError,
    ) -> Result<T, ToolError> {
        value.map_err(convert)
    }
}

impl IsPlain {
    /// Returns the value as a success.
    #[inline]
    pub fn into_result<T>(self, value: T) -> Result<T, Infallible> {
        Ok(value)
    }

    /// Converts the errors of a stream.
    pub fn with_errors<T, V, E, F>(self, stream: T, convert: F) -> MapErr<T, F>
    where
        T: Stream<Item = Result<V, E>>,
        F: FnMut(E) -> ToolError,
    {
        stream.map_err(convert)
    }
}

impl IsOutput {
    /// Converts the value itself.
    #[inline]
    pub fn answer<T: IntoToolOutput>(self, value: T, _: Invocation<'_>) -> Execution<'_> {
        Execution::Done(Ok(value.into_tool_output()))
    }
}

impl IsTree {
    /// Serialises the value. A value that is nested too deeply for recursion is dropped iteratively.
    pub fn answer(self, value: Value, call: Invocation<'_>) -> Execution<'_> {
        Execution::Done(encode_tree(value, call.0.output_bytes))
    }
}

impl IsData {
    /// Serialises the value.
    #[inline]
    pub fn answer<T: Returned>(self, value: T, call: Invocation<'_>) -> Execution<'_> {
        Execution::Done(encode_owned(value, call.0.output_bytes))
    }
}

impl IsStream {
    /// Collects the items into a list, and reports each one as progress.
    pub fn answer<'a, T>(self, stream: T, call: Invocation<'a>) -> Execution<'a>
    where
        T: Stream<Item: Serialize> + Send + 'a,
    {
        Execution::pending(async move { Execution::Done(collect(stream, call, Ok).await) })
    }
}

/// Implements the conversions of streams of results: of each marker, from the errors that its bound allows, into the call's.
macro_rules! result_streams {
    ($($tag:ident: $bound:path, $error:expr;)*) => {$(
        impl $tag {
            /// Collects the items into a list up to the first error, which fails the call, and reports each one as progress.
            pub fn answer<'a, T, V, E>(self, stream: T, call: Invocation<'a>) -> Execution<'a>
            where
                T: Stream<Item = Result<V, E>> + Send + 'a,
                V: Serialize,
                E: $bound,
            {
                let value = |item: Result<V, E>| item.map_err(|error| $error(error));
                Execution::pending(async move { Execution::Done(collect(stream, call, value).await) })
            }
        }
    )*};
}

result_streams! {
    IsToolErrorStream: IntoToolError, |error| IsToolError.failure(error);
    IsForeignStream: Into<Box<dyn Error + Send + Sync>>, |error| IsForeign.failure(error);
    IsDisplayStream: Display, |error| IsDisplay.failure(error);
    // Does not compile, with the message of `IntoToolError`.
    IsUnknownStream: IntoToolError, |error| IsUnknown.failure(error);
}

/// The time for which a stream that is always ready keeps its task.
const SLICE: Duration = Duration::from_millis(1);

/// Collects a stream, up to the first item that has no `value`. It is dropped once the list exceeds its limit, because later
/// items would be cut anyway. A stream that is always ready is interrupted between items, so that deadlines and cancellation
/// reach it.
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

impl IsToolError {
    /// Converts the error itself.
    #[inline]
    pub fn failure<E: IntoToolError>(self, error: E) -> ToolError {
        error.into_tool_error()
    }
}

impl IsForeign {
    /// Creates an internal error, whose text with all causes goes to the log.
    #[inline]
    pub fn failure<E: Into<Box<dyn Error + Send + Sync>>>(self, error: E) -> ToolError {
        foreign(error.into().as_ref())
    }
}

impl IsDisplay {
    /// Creates an internal error, whose text goes to the log.
    #[inline]
    pub fn failure<E: Display>(self, error: E) -> ToolError {
        ToolError::internal(error.to_string())
    }
}

impl IsUnknown {
    /// Fails to compile, with the message of [`IntoToolError`].
    #[inline]
    pub fn failure<E: IntoToolError>(self, error: E) -> ToolError {
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

/// Converts a method's return value into an [`Execution`].
#[doc(hidden)]
#[macro_export]
macro_rules! __respond {
    ($call:expr, $value:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::TreeKind as _;
        #[allow(unused_imports)]
        use $crate::__private::{
            DataKind as _, OutputKind as _, PlainKind as _, ResultKind as _, StreamKind as _,
        };
        #[allow(unused_imports)]
        use $crate::__private::{
            DisplayStreamKind as _, ForeignStreamKind as _, ToolErrorStreamKind as _,
            UnknownStreamKind as _,
        };
        match $value {
            __tool_value => {
                match (&&$crate::__private::Probe::of(&__tool_value))
                    .__tool_split()
                    .into_result(__tool_value)
                {
                    ::core::result::Result::Ok(__tool_value) => {
                        (&&&&&&&&$crate::__private::Probe::of(&__tool_value))
                            .__tool_value()
                            .answer(__tool_value, $call)
                    }
                    ::core::result::Result::Err(__tool_error) => {
                        $crate::__private::Execution::Done(::core::result::Result::Err(
                            $crate::__failure!(__tool_error),
                        ))
                    }
                }
            }
        }
    }};
}

/// Converts any error into a `ToolError`.
#[doc(hidden)]
#[macro_export]
macro_rules! __failure {
    ($error:ident) => {{
        #[allow(unused_imports)]
        use $crate::__private::{
            DisplayKind as _, ForeignKind as _, ToolErrorKind as _, UnknownKind as _,
        };
        (&&&&$crate::__private::Probe::of(&$error))
            .__tool_error()
            .failure($error)
    }};
}

/// Makes the text of any error of a result, or of a stream of results, the model's.
#[doc(hidden)]
#[macro_export]
macro_rules! __shown {
    ($value:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::{PlainKind as _, ResultKind as _};
        match $value {
            __tool_value => (&&$crate::__private::Probe::of(&__tool_value))
                .__tool_split()
                .with_errors(__tool_value, |__tool_error| {
                    $crate::__failure!(__tool_error).shown()
                }),
        }
    }};
}

/// Converts the return value of a `#[setup]` or `#[close]` method into a `Result<(), ToolError>`.
#[doc(hidden)]
#[macro_export]
macro_rules! __outcome {
    ($value:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::{PlainKind as _, ResultKind as _};
        match $value {
            __tool_value => {
                match (&&$crate::__private::Probe::of(&__tool_value))
                    .__tool_split()
                    .into_result(__tool_value)
                {
                    ::core::result::Result::Ok(_) => ::core::result::Result::Ok(()),
                    ::core::result::Result::Err(__tool_error) => {
                        ::core::result::Result::Err($crate::__failure!(__tool_error))
                    }
                }
            }
        }
    }};
}

/// Finds the JSON Schema of a returned type, where it has one.
pub trait ReturnedSchema {
    /// Returns the schema of the type, or of a `Result`'s success.
    fn __tool_schema(&self, generator: &mut SchemaGenerator) -> Option<Schema>;
}

impl<T: JsonSchema, E> ReturnedSchema for &&Probe<Result<T, E>> {
    fn __tool_schema(&self, generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(T::json_schema(generator))
    }
}

impl<T: JsonSchema> ReturnedSchema for &Probe<T> {
    fn __tool_schema(&self, generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(T::json_schema(generator))
    }
}

impl<T> ReturnedSchema for Probe<T> {
    fn __tool_schema(&self, _: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

/// Generates the schema of a return type, where it has one.
#[doc(hidden)]
#[macro_export]
macro_rules! __output {
    ($type:ty) => {
        |__tool_generator| {
            use $crate::__private::ReturnedSchema as _;
            (&&&$crate::__private::Probe::<$type>::new()).__tool_schema(__tool_generator)
        }
    };
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

/// Decides how the span of a body that returns a `T` ends.
///
/// Its constant is chosen by the path `<Ending<T>>::END`: that of a `Result` comes before the one of the trait.
pub struct Ending<T>(PhantomData<T>);

impl<T, E> Ending<Result<T, E>> {
    /// Ends the span with the result's error.
    pub const END: fn(&Result<T, E>) -> SpanEnd = SpanEnd::of_result;
}

/// The ending of the span of a body that returns no `Result`.
pub trait PlainEnding {
    /// The type that the body returns.
    type Value;
    /// Ends the span well.
    const END: fn(&Self::Value) -> SpanEnd;
}

impl<T> PlainEnding for Ending<T> {
    type Value = T;
    const END: fn(&T) -> SpanEnd = ends_well;
}

/// Ends a span well.
pub fn ends_well<T>(_: &T) -> SpanEnd {
    SpanEnd::default()
}

/// Opens the span of a tool's body.
#[inline]
pub fn tool_span<T>(name: &'static str, id: u32, ending: fn(&T) -> SpanEnd) -> BodySpan<T> {
    BodySpan::new(
        if is_wanted() {
            open_tool(name, id)
        } else {
            None
        },
        ending,
    )
}

/// Opens the span of an async agent's body.
#[inline]
pub fn agent_span<T>(name: &'static str, ending: fn(&T) -> SpanEnd) -> AgentSpan<T> {
    AgentSpan::open(name, ending)
}

/// Opens the span of a tool's body. Dispatch and the body recognise the same function by its path in the module.
///
/// A body that returns `impl Trait` has no type that could be written, and so its span does not end as an error.
#[doc(hidden)]
#[macro_export]
macro_rules! __tool_span {
    ($name:expr, $path:literal $(, $returned:ty)?) => {
        $crate::__span_of!(
            tool_span [$name, const { $crate::__private::function_id($crate::__path!($path)) }]
            $($returned)?
        )
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

/// Opens the span of an async agent's body.
#[doc(hidden)]
#[macro_export]
macro_rules! __agent_span {
    ($name:expr $(, $returned:ty)?) => {
        $crate::__span_of!(agent_span [$name] $($returned)?)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __span_of {
    ($open:ident [$($argument:expr),*]) => {
        $crate::__private::$open($($argument,)* $crate::__private::ends_well)
    };
    ($open:ident [$($argument:expr),*] $returned:ty) => {{
        #[allow(unused_imports)]
        use $crate::__private::PlainEnding as _;
        $crate::__private::$open($($argument,)* <$crate::__private::Ending<$returned>>::END)
    }};
}

/// Gives an `async` block its type, which cannot be annotated: the first `return` decides it.
#[doc(hidden)]
#[macro_export]
macro_rules! __returns {
    ($type:ty) => {
        if false {
            return $crate::__private::never::<$type>();
        }
    };
}

probe! {
    /// Any future, if the signature hides its type.
    FutureKind.__tool_goes_on -> IsFuture, [<F: Future> FutureKind for &Probe<F>];
    /// A boxed future, as `async_trait` writes it.
    BoxedKind.__tool_goes_on -> IsBoxed, [<T: Boxed> BoxedKind for &Probe<T>];
    /// A value that is not a future.
    OverKind.__tool_goes_on -> IsOver, [<T> OverKind for Probe<T>];
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

/// Closes the span of a body that has returned a value, or hands it to the future that the body returned.
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
        // A block around the closure would take the expected type from it. Its parameters have names of their own.
        |__tool_agent_value, __tool_agent_span| {
            #[allow(unused_imports)]
            use $crate::__private::locals::*;
            #[allow(unused_imports)]
            use $crate::__private::{OverKind as _, PlainKind as _, ResultKind as _, SpanEnding as _, $kind as _};
            let __tool_kind = (&&$crate::__private::Probe::of(&__tool_agent_value)).__tool_goes_on();
            let __tool_ending = (&&__tool_kind.outcome(&__tool_agent_value)).__tool_split().ending();
            __tool_kind.finish(__tool_agent_value, __tool_agent_span, __tool_ending)
        }
    };
}
