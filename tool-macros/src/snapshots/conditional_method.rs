#[cfg(feature = "clock")]
impl Clock {
    /// Seconds since the epoch.
    #[cfg(unix)]
    #[deprecated]
    fn now(&self, digits: u8) -> u64 {
        ::tool_core::__private::body::<u64>()
            .__tool_span("now", ::tool_core::__private::function_id!("::Clock::now"))
            .run(move || -> u64 { 0 })
    }
    /// Seconds since the epoch.
    #[cfg(windows)]
    fn now(&self) -> u64 {
        ::tool_core::__private::body::<u64>()
            .__tool_span("now", ::tool_core::__private::function_id!("::Clock::now"))
            .run(move || -> u64 { 0 })
    }
}
#[cfg(feature = "clock")]
#[allow(deprecated, clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    use __tool::locals::*;
    const _: () = {
        struct tool;
        use tool as _;
    };
    #[cfg(unix)]
    struct NowArgs {
        digits: u8,
    }
    #[cfg(unix)]
    impl<'__de> __tool::ArgumentStruct<'__de> for NowArgs {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<u8>("digits", "")
                .constraints(&[__Limit::integers(__Some(0), __Some(9), false)]),
        ];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            let __decoded = __source.read(&mut [&mut __f0])?;
            let __args = Self {
                digits: __tool::filled(__f0),
            };
            __source.check(0, __tool::in_range(&__args.digits, Self::row(0)))?;
            __source.accept(__decoded)?;
            __Ok(__args)
        }
    }
    #[cfg(unix)]
    fn __tool_now<'__a>(
        __this: &'__a Clock,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: NowArgs = __call.arguments()?;
        match Clock::now(__this, __args.digits) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    #[cfg(windows)]
    struct NowArgs {}
    #[cfg(windows)]
    impl<'__de> __tool::ArgumentStruct<'__de> for NowArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            __source.decode(&mut [])?;
            __Ok(Self {})
        }
    }
    #[cfg(windows)]
    fn __tool_now<'__a>(
        __this: &'__a Clock,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: NowArgs = __call.arguments()?;
        match Clock::now(__this) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    impl __tool::MainToolsetBlock for Clock {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "clock",
                "",
                &[
                    #[cfg(unix)]
                    __tool::ToolSpec::new(
                            "now",
                            "Seconds since the epoch.",
                            __tool_now,
                            __tool::parameters::<NowArgs>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Clock::now"))
                        .output(__tool::output!(u64)),
                    #[cfg(windows)]
                    __tool::ToolSpec::new(
                            "now",
                            "Seconds since the epoch.",
                            __tool_now,
                            __tool::parameters::<NowArgs>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Clock::now"))
                        .output(__tool::output!(u64)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Clock"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Clock > (|| __tool::discovery!(Clock))
    }
};
