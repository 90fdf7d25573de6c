//! `wrap_tool!` and `wrap_all!`: one callable, or a container of callables.
#![allow(clippy::unused_self, clippy::trivially_copy_pass_by_ref)] // the macros call methods on markers

use crate::tool::function::FunctionTool;
use crate::tool::returns::{IsPlain, IsResult, Probe, probe};
use crate::tool::toolset::Tool;
use crate::tool::wrap::{AsyncCall, CallSignature, Callable, SpanLabel, SyncCall, WrapAs, Wrapped};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

/// A container whose items `wrap_all!` wraps. The keys of a map become the names.
pub trait Container {
    /// The type of the items.
    type Item;
    /// The same container with other items.
    type With<W>;

    /// Converts each item.
    fn map_items<W>(self, wrap: impl FnMut(Self::Item, SpanLabel) -> W) -> Self::With<W>;
}

impl<F> Container for Vec<F> {
    type Item = F;
    type With<W> = Vec<W>;

    fn map_items<W>(self, mut wrap: impl FnMut(F, SpanLabel) -> W) -> Vec<W> {
        self.into_iter()
            .map(|item| wrap(item, SpanLabel::default()))
            .collect()
    }
}

impl<F, const N: usize> Container for [F; N] {
    type Item = F;
    type With<W> = [W; N];

    fn map_items<W>(self, mut wrap: impl FnMut(F, SpanLabel) -> W) -> [W; N] {
        self.map(|item| wrap(item, SpanLabel::default()))
    }
}

impl<K: AsRef<str> + Eq + Hash, F, S: BuildHasher + Default> Container for HashMap<K, F, S> {
    type Item = F;
    type With<W> = HashMap<K, W, S>;

    fn map_items<W>(self, wrap: impl FnMut(F, SpanLabel) -> W) -> HashMap<K, W, S> {
        self.into_iter().map(named_by_key(wrap)).collect()
    }
}

impl<K: AsRef<str> + Ord, F> Container for BTreeMap<K, F> {
    type Item = F;
    type With<W> = BTreeMap<K, W>;

    fn map_items<W>(self, wrap: impl FnMut(F, SpanLabel) -> W) -> BTreeMap<K, W> {
        self.into_iter().map(named_by_key(wrap)).collect()
    }
}

fn named_by_key<K: AsRef<str>, F, W>(
    mut wrap: impl FnMut(F, SpanLabel) -> W,
) -> impl FnMut((K, F)) -> (K, W) {
    move |(key, item)| {
        let label = SpanLabel::named(key.as_ref().to_owned());
        (key, wrap(item, label))
    }
}

impl EachItem {
    /// Returns the probe of an item.
    pub fn item<C: Container>(self, _: &Probe<C>) -> Probe<C::Item> {
        Probe::new()
    }

    /// Wraps each item.
    pub fn map<C: Container, W>(
        self,
        container: C,
        wrap: impl FnMut(C::Item, SpanLabel) -> W,
    ) -> C::With<W> {
        container.map_items(wrap)
    }
}

impl SingleItem {
    /// Returns the probe of the callable.
    pub fn item<F>(self, _: &Probe<F>) -> Probe<F> {
        Probe::new()
    }

    /// Wraps the callable.
    pub fn map<F, W>(self, callable: F, wrap: impl FnOnce(F, SpanLabel) -> W) -> W {
        wrap(callable, SpanLabel::default())
    }
}

/// Implemented for types whose calls have spans.
pub trait Traced {}

impl<F, M, C, A> Traced for Wrapped<F, M, C, A> {}
impl Traced for FunctionTool {}
impl Traced for Tool {}
impl<T: Traced> Traced for &T {}

probe! {
    /// Marks a container.
    __tool_each -> EachItem, 0 [C: Container] C;
    /// Marks a single callable.
    __tool_each -> SingleItem, 1 [F] F;
    /// Marks a value whose calls have spans. It answers every step of the macros and returns the
    /// value unchanged.
    __tool_callable -> AlreadyTraced, 0 [T: Traced] T;
    /// Marks a callable to wrap.
    __tool_callable -> NotTraced, 1 [T] T;
}

impl AlreadyTraced {
    /// Returns the marker.
    #[must_use]
    pub fn signature<T>(self, _: &Probe<T>) -> Self {
        self
    }

    /// Does nothing.
    pub fn returned(self) {}

    /// Returns the marker.
    #[must_use]
    pub fn __tool_returned(&self) -> Self {
        *self
    }

    /// Returns the value, whatever the label.
    pub fn wrap<T>(self, value: T, _: SpanLabel) -> T {
        value
    }
}

impl NotTraced {
    /// Returns the signature of the callable.
    pub fn signature<F: Callable<A>, A>(self, _: &Probe<F>) -> CallSignature<A, F::Out> {
        CallSignature(PhantomData)
    }
}

/// Implemented for every type. A call of its method fails to compile where a closure does not
/// declare its types.
pub trait TypeIsKnown {
    /// Does nothing.
    fn __tool_type_is_known(&self) {}
}

impl<T: ?Sized> TypeIsKnown for T {}

/// Chooses how a call runs by the returned type.
pub trait ReturnedKind {
    /// The marker.
    type Kind;

    /// Returns the marker.
    fn __tool_returned(&self) -> Self::Kind;
}

macro_rules! returned_kinds {
    ($(<$($param:ident),*> $signature:ty => $call:ty $([$($bound:tt)*])?;)*) => {$(
        impl<A, $($param),*> ReturnedKind for $signature $(where $($bound)*)? {
            type Kind = WrapAs<$call, A>;

            fn __tool_returned(&self) -> Self::Kind {
                WrapAs(PhantomData)
            }
        }
    )*};
}

returned_kinds! {
    <F, T, E> &&&CallSignature<A, F> => AsyncCall<IsResult> [F: Future<Output = Result<T, E>>];
    <F> &&CallSignature<A, F> => AsyncCall<IsPlain> [F: Future];
    <T, E> &CallSignature<A, Result<T, E>> => SyncCall<IsResult>;
    <R> CallSignature<A, R> => SyncCall<IsPlain>;
}

/// Wraps a function or closure, sync or async. Every call of the wrapper has the span of a tool.
///
/// ```
/// use tool_core::trace::{self, Collector};
/// use tool_core::wrap_tool;
///
/// fn add(a: u32, b: u32) -> u32 {
///     a + b
/// }
///
/// async fn fetch(url: &str) -> Result<String, std::num::ParseIntError> {
///     let port: u16 = url.parse()?;
///     Ok(format!("port {port}"))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let add = wrap_tool!(add);
/// let fetch = wrap_tool!(fetch, "fetch_page");
///
/// let collector = Collector::new();
/// let work = async {
///     assert_eq!(add(1, 2), 3);
///     assert!(fetch("no port").await.is_err());
/// };
/// collector.run(trace::agent("planner", work)).await;
///
/// let report = collector.report();
/// let labels = report.spans().iter().map(|span| span.label()).collect::<Vec<_>>();
/// assert_eq!(labels, ["tool:add", "tool:fetch_page", "agent:planner"]);
/// # }
/// ```
///
/// The span has the given name. Without one it has the name of the tool or function; a closure has the name of the
/// function around it, and any other callable that of its type. A wrapper, a [`Tool`](crate::Tool) and a
/// [`FunctionTool`](crate::FunctionTool) have spans already, and are returned unchanged. An `Err` closes the span as an
/// error and is returned unchanged.
///
/// The callable must not borrow (`move |..|`) and takes at most 8 arguments; a closure declares
/// their types. The result is a `Wrapped`, which is called like the original; `original` returns
/// the callable.
#[macro_export]
macro_rules! wrap_tool {
    ($callable:expr $(,)?) => {
        $crate::__wrap!($callable, $crate::__private::SpanLabel::default())
    };
    ($callable:expr, $name:expr $(,)?) => {
        $crate::__wrap!($callable, $crate::__private::SpanLabel::named($name))
    };
}

/// Wraps several callables as [`wrap_tool!`](crate::wrap_tool) does. The result has the form of the
/// input: a container or a tuple.
///
/// ```
/// use std::collections::BTreeMap;
/// use tool_core::trace::Collector;
/// use tool_core::wrap_all;
///
/// fn twice(n: u32) -> u32 {
///     n * 2
/// }
/// fn square(n: u32) -> u32 {
///     n * n
/// }
///
/// // A single function, a list, a map whose keys are the names, and a tuple.
/// let one = wrap_all!(twice);
/// let list = wrap_all!(vec![twice, square]);
/// let map = wrap_all!(BTreeMap::from([("double", twice as fn(u32) -> u32)]));
/// let (first, second) = wrap_all!(square, |n: u32| n + 1);
///
/// let collector = Collector::new();
/// collector.run_sync(|| assert_eq!([one(3), list[1](3), map["double"](3), first(3), second(3)], [6, 9, 6, 9, 4]));
/// let report = collector.report();
/// let names = report.spans().iter().map(|span| span.name()).collect::<Vec<_>>();
/// assert_eq!(names, ["twice", "square", "double", "square", "main::closure"]);
/// ```
///
/// Containers are `Vec`, arrays, `HashMap` and `BTreeMap`. In a list literal, `[a, b]` or
/// `vec![a, b]`, each function keeps its name. The functions of another list are known by their
/// signatures only, so a map is better.
#[macro_export]
macro_rules! wrap_all {
    ([$($($path:ident)::+),+ $(,)?]) => {
        $crate::__wrap_list!([$($($path)::+),+] [$($($path)::+),+])
    };
    (vec![$($($path:ident)::+),+ $(,)?]) => {
        $crate::__wrap_list!([$($($path)::+),+] ::std::vec::Vec::from([$($($path)::+),+]))
    };
    ($tools:expr $(,)?) => {{
        #[allow(unused_imports)]
        use $crate::__private::locals::*;
        $crate::__wrap_items!($tools, __tool_label => __tool_label)
    }};
    ($($tool:expr),+ $(,)?) => {
        ($($crate::wrap_all!($tool)),+)
    };
}

/// Wraps one callable.
#[doc(hidden)]
#[macro_export]
macro_rules! __wrap {
    ($callable:expr, $label:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::locals::*;
        match $callable {
            __tool_callable => {
                let __tool_probe = $crate::__private::Probe::of(&__tool_callable);
                $crate::__wraps!(__tool_probe).wrap(__tool_callable, $label)
            }
        }
    }};
}

/// Wraps a list of functions. Their names are taken before they are converted to one type.
#[doc(hidden)]
#[macro_export]
macro_rules! __wrap_list {
    ([$($path:expr),+] $list:expr) => {{
        #[allow(unused_imports)]
        use $crate::__private::locals::*;
        let __tool_labels = [$($crate::__private::SpanLabel::of(&$path)),+];
        let mut __tool_labels = ::core::iter::IntoIterator::into_iter(__tool_labels);
        $crate::__wrap_items!($list, _ => {
            ::core::option::Option::unwrap_or_default(::core::iter::Iterator::next(&mut __tool_labels))
        })
    }};
}

/// Wraps a callable, or each item of a container, under a label that is made of the item's own.
#[doc(hidden)]
#[macro_export]
macro_rules! __wrap_items {
    ($tools:expr, $own:pat => $label:expr) => {
        match $tools {
            __tools => {
                let __tool_probe = $crate::__private::Probe::of(&__tools);
                let __tool_each = __tool_probe.__tool_each();
                let __tool_item = __tool_each.item(&__tool_probe);
                let __tool_wraps = $crate::__wraps!(__tool_item);
                __tool_each.map(__tools, |__tool, $own| __tool_wraps.wrap(__tool, $label))
            }
        }
    };
}

/// Chooses how the type of a probe is wrapped.
#[doc(hidden)]
#[macro_export]
macro_rules! __wraps {
    ($probe:ident) => {{
        #[allow(unused_imports)]
        use $crate::__private::{ReturnedKind as _, TypeIsKnown as _};
        let __tool_signature = $probe.__tool_callable().signature(&$probe);
        if false {
            __tool_signature.returned().__tool_type_is_known();
        }
        (&&&&__tool_signature).__tool_returned()
    }};
}
