impl Clock {
    /// What time it is.
    ///
    /// # Arguments
    ///
    /// * `zone` - An IANA zone,
    ///   such as Europe/Berlin
    ///
    /// # Returns
    ///
    /// The time, RFC 3339
    pub fn now(&self, mut zone: String) -> String {
        ::tool_core::__private::body::<String>()
            .__tool_span(::tool_core::__private::function!("::Clock::now"))
            .run(move || -> String {
                zone.push('x');
                zone
            })
    }
    pub const EPOCH: u64 = 0;
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct NowArgs {
        zone: String,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for NowArgs {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<String>("zone", "An IANA zone, such as Europe/Berlin"),
        ];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None,);
            __from.decode([&mut __f.0])?;
            __Ok(Self {
                zone: __tool::filled(__f.0),
            })
        }
    }
    fn __tool_now<'__a>(
        __this: &'__a Clock,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: NowArgs = __call.arguments()?;
        __tool::done(
            __call,
            Clock::now(__this, __args.zone),
            |__value| __value.__split().__value().__error(),
        )
    }
    impl __tool::MainToolsetBlock for Clock {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("clock")
            .at(0);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("now", __tool_now)
                .description("What time it is.")
                .parameters::<NowArgs>()
                .at(0, __tool::path!("::Clock::now"))
                .returns("The time, RFC 3339")
                .output(|__generator| __tool::of_type::<String>().__schema(__generator)),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Clock > ()
    }
};
