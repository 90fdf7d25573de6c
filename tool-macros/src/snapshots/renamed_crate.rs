impl Echo {
    /// Say it again.
    fn echo(&self, text: &str) -> String {
        crate::__private::body::<String>()
            .__tool_span("echo", crate::__private::function_id!("::Echo::echo"))
            .run(move || -> String { text.to_owned() })
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use crate::__private::{self as __tool, Constraint as __Limit, Parameter as __Row};
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    use __tool::locals::*;
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct EchoArgs<'__de> {
        text: __tool::Text<'__de>,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for EchoArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<__String>("text", "")];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            __source.decode(&mut [&mut __f0])?;
            __Ok(Self { text: __tool::filled(__f0) })
        }
    }
    fn __tool_echo<'__a>(
        __this: &'__a Echo,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: EchoArgs<'_> = __call.arguments()?;
        match Echo::echo(__this, &*__args.text) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    impl __tool::MainToolsetBlock for Echo {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "echo",
                "",
                &[
                    __tool::ToolSpec::new(
                            "echo",
                            "Say it again.",
                            __tool_echo,
                            __tool::parameters::<EchoArgs<'_>>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Echo::echo"))
                        .output(__tool::output!(String)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Echo"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Echo > (|| __tool::discovery!(Echo))
    }
};
