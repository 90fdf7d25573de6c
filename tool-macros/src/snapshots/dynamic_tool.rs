impl Desk {
    /// Open the safe.
    fn open_safe(&self) {
        ::tool_core::__private::body::<()>()
            .__tool_span(::tool_core::__private::function!("::Desk::open_safe"))
            .run(move || -> () {})
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct OpenSafeArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for OpenSafeArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            __from.decode([])?;
            __Ok(Self {})
        }
    }
    fn __tool_open_safe<'__a>(
        __this: &'__a Desk,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: OpenSafeArgs = __call.arguments()?;
        __tool::done(
            __call,
            Desk::open_safe(__this),
            |__value| __value.__split().__value().__error(),
        )
    }
    impl __tool::MainToolsetBlock for Desk {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("desk")
            .at(0);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("open_safe", __tool_open_safe)
                .description("Open the safe.")
                .at(0, __tool::path!("::Desk::open_safe"))
                .dynamic(<Desk>::is_staff),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Desk > ()
    }
};
