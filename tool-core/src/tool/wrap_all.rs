//! One callable, or a container of them. S4
#![allow(clippy::unused_self)]
#![allow(clippy::unused_self, clippy::trivially_copy_pass_by_ref)]

use crate::tool::function::FunctionTool;
use crate::tool::returns::Probe;
use crate::tool::toolset::Tool;
use crate::tool::wrap::{Callable, Label, Later, LaterFallible, Now, NowFallible, Wrapped};
use crate::trace::body::never;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

// A tag is there for its methods to be found by.

/// How `wrap_all!` goes through a value.
pub trait Shape {
    /// What is wrapped.
    type Item;
    /// What says so.
    type Each: Copy;

    /// What is wrapped, as a type.
    fn __tool_item(&self) -> Probe<Self::Item> {
        Probe::new()
    }

    /// How to go through it.
    fn __tool_each(&self) -> Self::Each;
}

macro_rules! shapes {
    ($($(#[$doc:meta])* $each:ident: <$($param:ident),*> $value:ty, $item:ident, [$($depth:tt)*];)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $each;

        impl<$($param),*> Shape for $($depth)* Probe<$value> {
            type Item = $item;
            type Each = $each;

            fn __tool_each(&self) -> $each {
                $each
            }
        }
    )*};
}

shapes! {
    /// A list.
    InVec: <F> Vec<F>, F, [&];
    /// A map, whose keys are the names.
    InHashMap: <K, F, S> HashMap<K, F, S>, F, [&];
    /// A map, whose keys are the names.
    InBTreeMap: <K, F> BTreeMap<K, F>, F, [&];
    /// A callable alone.
    One: <F> F, F, [];
}

/// A list of fixed length.
#[derive(Clone, Copy)]
pub struct InArray;

impl<F, const N: usize> Shape for &Probe<[F; N]> {
    type Item = F;
    type Each = InArray;

    fn __tool_each(&self) -> InArray {
        InArray
    }
}

impl InVec {
    /// A list again.
    pub fn map<F, W>(self, all: Vec<F>, mut wrap: impl FnMut(F, Label) -> W) -> Vec<W> {
        all.into_iter().map(|one| wrap(one, Label::default())).collect()
    }
}

impl InArray {
    /// A list of the same length again.
    pub fn map<F, W, const N: usize>(self, all: [F; N], mut wrap: impl FnMut(F, Label) -> W) -> [W; N] {
        all.map(|one| wrap(one, Label::default()))
    }
}

impl InHashMap {
    /// A map with the same keys again.
    pub fn map<K, F, S, W>(self, all: HashMap<K, F, S>, mut wrap: impl FnMut(F, Label) -> W) -> HashMap<K, W, S>
    where
        K: AsRef<str> + Eq + Hash,
        S: BuildHasher + Default,
    {
        let named = |(key, one): (K, F)| {
            let name = Label::named(key.as_ref().to_owned());
            (key, wrap(one, name))
        };
        all.into_iter().map(named).collect()
    }
}

impl InBTreeMap {
    /// A map with the same keys again.
    pub fn map<K: AsRef<str> + Ord, F, W>(
        self,
        all: BTreeMap<K, F>,
        mut wrap: impl FnMut(F, Label) -> W,
    ) -> BTreeMap<K, W> {
        let named = |(key, one): (K, F)| {
            let name = Label::named(key.as_ref().to_owned());
            (key, wrap(one, name))
        };
        all.into_iter().map(named).collect()
    }
}

impl One {
    /// It alone again.
    pub fn map<F, W>(self, one: F, wrap: impl FnOnce(F, Label) -> W) -> W {
        wrap(one, Label::default())
    }
}

// ---- What is done with a value that is to be wrapped, by its traits: method resolution finds the most particular first.

// A tag is there for its methods to be found by.

/// Whether a value has spans already.
pub trait SortCallable {
    /// What says so.
    type Sort;

    /// The same.
    fn __tool_callable(&self) -> Self::Sort;
}

/// Has spans already.
pub trait Known {}

impl<F, M, C, A> Known for Wrapped<F, M, C, A> {}
impl Known for FunctionTool {}
impl Known for Tool {}
impl<T: Known> Known for &T {}

impl<T: Known> SortCallable for &Probe<T> {
    type Sort = AsIs;

    fn __tool_callable(&self) -> AsIs {
        AsIs
    }
}

impl<T> SortCallable for Probe<T> {
    type Sort = Fresh;

    fn __tool_callable(&self) -> Fresh {
        Fresh
    }
}

/// Has spans already, and is given back.
#[derive(Clone, Copy)]
pub struct AsIs;

impl AsIs {
    /// Nothing more is asked.
    #[must_use]
    pub fn signature<T>(self, _: &Probe<T>) -> Self {
        self
    }

    /// Nothing more is asked.
    pub fn returned(self) {}

    /// Nothing more is asked.
    #[must_use]
    pub fn __tool_returned(&self) -> Self {
        *self
    }

    /// The value, whatever name somebody would give it.
    pub fn wrap<T>(self, value: T, _: Label) -> T {
        value
    }
}

/// Has none yet.
#[derive(Clone, Copy)]
pub struct Fresh;

impl Fresh {
    /// What it takes and returns.
    pub fn signature<F: Callable<A, Signature: Default>, A>(self, _: &Probe<F>) -> F::Signature {
        F::Signature::default()
    }
}

/// What a callable takes and returns.
pub struct Signature<A, R>(PhantomData<fn(A) -> R>);

impl<A, R> Default for Signature<A, R> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<A, R> Signature<A, R> {
    /// A value of what is returned: for rustc, which nobody asks for it.
    #[must_use]
    pub fn returned(&self) -> R {
        never()
    }
}

/// Any type that is known. A closure that does not tell its types is not sorted by guessing.
pub trait TypeIsKnown {
    /// Says so.
    fn __tool_type_is_known(&self) {}
}

impl<T: ?Sized> TypeIsKnown for T {}

/// How a callable runs.
pub struct Wraps<M, A>(PhantomData<fn(A) -> M>);

impl<M, A> Clone for Wraps<M, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, A> Copy for Wraps<M, A> {}

/// How a callable runs, by what it returns.
pub trait SortReturned {
    /// What says so.
    type Sort;

    /// The same.
    fn __tool_returned(&self) -> Self::Sort;
}

macro_rules! ways {
    ($(<$($param:ident),*> $probe:ty => $way:ident $([$($bound:tt)*])?;)*) => {$(
        impl<A, $($param),*> SortReturned for $probe $(where $($bound)*)? {
            type Sort = Wraps<$way, A>;

            fn __tool_returned(&self) -> Self::Sort {
                Wraps(PhantomData)
            }
        }
    )*};
}

ways! {
    <F, T, E> &&&Signature<A, F> => LaterFallible [F: Future<Output = Result<T, E>>];
    <F> &&Signature<A, F> => Later [F: Future];
    <T, E> &Signature<A, Result<T, E>> => NowFallible;
    <R> Signature<A, R> => Now;
}

// ---- `wrap_tool!` and `wrap_all!`.

/// Puts a function or closure, sync or async, inside the span of a tool: every call of what this gives has one.
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
/// The name is the one that is given; else that of the tool, where the function is one; else the function's; a closure
/// has that of the function which it stands in, and whatever else is called has its type's. What is wrapped already, a
/// [`Tool`](crate::Tool) and a [`FunctionTool`](crate::FunctionTool) have their spans, and are given back as they are.
/// An `Err` closes the span as an error and is returned unchanged.
///
/// What is wrapped owns what it needs (`move |..|`) and takes at most 8 arguments; a closure says their types. The result
/// is a [`Wrapped`](crate::trace::Wrapped): it is called as the callable was, and
/// [`original`](crate::trace::Wrapped::original) is what was wrapped.
#[macro_export]
macro_rules! wrap_tool {
    ($callable:expr $(,)?) => {
        $crate::__wrap!($callable, $crate::__private::Label::default())
    };
    ($callable:expr, $name:expr $(,)?) => {
        $crate::__wrap!($callable, $crate::__private::Label::named($name))
    };
}

/// The same as [`wrap_tool!`](crate::wrap_tool) for all of several: what comes in a container comes out in the same one.
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
/// // One, a list, a map, whose keys are the names, and a mix, which comes as a tuple.
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
/// Containers are `Vec`, arrays, `HashMap` and `BTreeMap`. In a list that is written out, `[a, b]` or `vec![a, b]`, each
/// function keeps its name; in one that comes from elsewhere functions are no more than their signatures, and a map is
/// better.
#[macro_export]
macro_rules! wrap_all {
    ([$($($path:ident)::+),+ $(,)?]) => {
        $crate::__wrap_list!([$($($path)::+),+] [$($($path)::+),+])
    };
    (vec![$($($path:ident)::+),+ $(,)?]) => {
        $crate::__wrap_list!([$($($path)::+),+] ::std::vec::Vec::from([$($($path)::+),+]))
    };
    ($tools:expr $(,)?) => {
        match $tools {
            __tools => {
                #[allow(unused_imports)]
                use $crate::__private::Shape as _;
                let __tool_probe = $crate::__private::Probe::of(&__tools);
                let __tool_item = (&&__tool_probe).__tool_item();
                let __tool_wraps = $crate::__wraps!(__tool_item);
                (&&__tool_probe).__tool_each().map(__tools, |__tool, __tool_label| __tool_wraps.wrap(__tool, __tool_label))
            }
        }
    };
    ($($tool:expr),+ $(,)?) => {
        ($($crate::wrap_all!($tool)),+)
    };
}

/// Wraps one callable.
#[doc(hidden)]
#[macro_export]
macro_rules! __wrap {
    ($callable:expr, $label:expr) => {
        match $callable {
            __tool_callable => {
                let __tool_probe = $crate::__private::Probe::of(&__tool_callable);
                $crate::__wraps!(__tool_probe).wrap(__tool_callable, $label)
            }
        }
    };
}

/// Wraps a list of functions, whose names are asked for before they are one type.
#[doc(hidden)]
#[macro_export]
macro_rules! __wrap_list {
    ([$($path:expr),+] $list:expr) => {{
        let __tool_labels = [$($crate::__private::Label::of(&$path)),+];
        let mut __tool_labels = ::core::iter::IntoIterator::into_iter(__tool_labels);
        match $list {
            __tools => {
                #[allow(unused_imports)]
                use $crate::__private::Shape as _;
                let __tool_probe = $crate::__private::Probe::of(&__tools);
                let __tool_item = (&&__tool_probe).__tool_item();
                let __tool_wraps = $crate::__wraps!(__tool_item);
                (&&__tool_probe).__tool_each().map(__tools, |__tool, _| {
                    let __tool_label = ::core::iter::Iterator::next(&mut __tool_labels);
                    __tool_wraps.wrap(__tool, ::core::option::Option::unwrap_or_default(__tool_label))
                })
            }
        }
    }};
}

/// How the type that a probe stands for is wrapped.
#[doc(hidden)]
#[macro_export]
macro_rules! __wraps {
    ($probe:ident) => {{
        #[allow(unused_imports)]
        use $crate::__private::{SortCallable as _, SortReturned as _, TypeIsKnown as _};
        let __tool_signature = (&&$probe).__tool_callable().signature(&$probe);
        if false {
            __tool_signature.returned().__tool_type_is_known();
        }
        (&&&&__tool_signature).__tool_returned()
    }};
}
