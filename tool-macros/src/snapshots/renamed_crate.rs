impl Echo {
    /// Say it again.
    fn echo(&self, text: &str) -> String {
        crate::__private::body::<String>()
            .__tool_span(crate::__private::function!("::Echo::echo"))
            .run(move || -> String { text.to_owned() })
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use crate::__private::{self as __tool, prelude::*};
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct EchoArgs<'__de> {
        text: __tool::Text<'__de>,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for EchoArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<__String>("text", "")];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None,);
            __from.decode([&mut __f.0])?;
            __Ok(Self {
                text: __tool::filled(__f.0),
            })
        }
    }
    fn __tool_echo<'__a>(
        __this: &'__a Echo,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: EchoArgs<'_> = __call.arguments()?;
        __tool::done(
            __call,
            Echo::echo(__this, &*__args.text),
            |__value| __value.__split().__value().__error(),
        )
    }
    impl __tool::MainToolsetBlock for Echo {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("echo")
            .at(0);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("echo", __tool_echo)
                .description("Say it again.")
                .parameters::<EchoArgs<'_>>()
                .at(0, __tool::path!("::Echo::echo"))
                .output(|__generator| __tool::of_type::<String>().__schema(__generator)),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Echo > ()
    }
};
