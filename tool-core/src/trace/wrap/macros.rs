//! `wrap_tool!` and `wrap_all!`.

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
