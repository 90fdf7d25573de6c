impl Clock {
    #[cfg(unix)]
    async fn open(&self) {}
    #[cfg(windows)]
    fn open_here(&self) {}
    /// Seconds since the epoch.
    fn now(&self) -> u64 {
        ::tool_core::__private::body::<u64>()
            .__tool_span(::tool_core::__private::function!("::Clock::now"))
            .run(move || -> u64 { 0 })
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct NowArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for NowArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            __from.decode([])?;
            __Ok(Self {})
        }
    }
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
        const TOOLSET: __tool::ToolsetSpec<Self> = {
            let __value = __tool::ToolsetSpec::new("clock").at(0);
            #[cfg(unix)]
            let __value = __value
                .setup(|__this| __tool::lifecycle(async move {
                    __tool::outcome!(Clock::open(__this). await)
                }));
            #[cfg(windows)]
            let __value = __value
                .setup(|__this| __tool::lifecycle(async move {
                    __tool::outcome!(Clock::open_here(__this))
                }));
            __value
        };
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
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
