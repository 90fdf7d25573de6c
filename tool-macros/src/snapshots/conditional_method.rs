#[cfg(feature = "clock")]
impl Clock {
    /// Seconds since the epoch.
    #[cfg(unix)]
    #[deprecated]
    fn now(&self, digits: u8) -> u64 {
        ::tool_core::__private::body::<u64>()
            .__tool_span(::tool_core::__private::function!("::Clock::now"))
            .run(move || -> u64 { 0 })
    }
    /// Seconds since the epoch.
    #[cfg(windows)]
    fn now(&self) -> u64 {
        ::tool_core::__private::body::<u64>()
            .__tool_span(::tool_core::__private::function!("::Clock::now"))
            .run(move || -> u64 { 0 })
    }
}
#[cfg(feature = "clock")]
#[allow(deprecated, clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
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
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None,);
            let __decoded = __from.read([&mut __f.0])?;
            let __args = Self {
                digits: __tool::filled(__f.0),
            };
            __from.check(0, __tool::in_range(&__args.digits, Self::row(0)))?;
            __from.accept(__decoded, __args)
        }
    }
    #[cfg(unix)]
    fn __tool_now<'__a>(
        __this: &'__a Clock,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: NowArgs = __call.arguments()?;
        __tool::done(
            __call,
            Clock::now(__this, __args.digits),
            |__value| __value.__split().__value().__error(),
        )
    }
    #[cfg(windows)]
    struct NowArgs {}
    #[cfg(windows)]
    impl<'__de> __tool::ArgumentStruct<'__de> for NowArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            __from.decode([])?;
            __Ok(Self {})
        }
    }
    #[cfg(windows)]
    fn __tool_now<'__a>(
        __this: &'__a Clock,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: NowArgs = __call.arguments()?;
        __tool::done(
            __call,
            Clock::now(__this),
            |__value| __value.__split().__value().__error(),
        )
    }
    impl __tool::MainToolsetBlock for Clock {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("clock")
            .at(0);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            #[cfg(unix)]
            __tool::ToolSpec::new("now", __tool_now)
                .description("Seconds since the epoch.")
                .parameters::<NowArgs>()
                .at(0, __tool::path!("::Clock::now"))
                .output(|__generator| __tool::of_type::<u64>().__schema(__generator)),
            #[cfg(windows)]
            __tool::ToolSpec::new("now", __tool_now)
                .description("Seconds since the epoch.")
                .at(0, __tool::path!("::Clock::now"))
                .output(|__generator| __tool::of_type::<u64>().__schema(__generator)),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Clock > ()
    }
};
