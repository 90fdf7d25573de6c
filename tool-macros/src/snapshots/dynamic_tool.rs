impl Desk {
    /// Open the safe.
    fn open_safe(&self) {
        ::tool_core::__private::body::<()>()
            .__tool_span(
                "open_safe",
                ::tool_core::__private::function_id!("::Desk::open_safe"),
            )
            .run(move || -> () {})
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
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
    struct OpenSafeArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for OpenSafeArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            __source.decode(&mut [])?;
            __Ok(Self {})
        }
    }
    fn __tool_open_safe<'__a>(
        __this: &'__a Desk,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: OpenSafeArgs = __call.arguments()?;
        match Desk::open_safe(__this) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    impl __tool::MainToolsetBlock for Desk {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "desk",
                "",
                &[
                    __tool::ToolSpec::new(
                            "open_safe",
                            "Open the safe.",
                            __tool_open_safe,
                            __tool::parameters::<OpenSafeArgs>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Desk::open_safe"))
                        .dynamic(<Desk>::is_staff),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Desk"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Desk > (|| __tool::discovery!(Desk))
    }
};
