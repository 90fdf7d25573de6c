impl Calendar {
    /// Delete an event.
    fn delete(&self, id: u64) {
        ::tool_core::__private::body::<()>()
            .__tool_span(
                "delete",
                ::tool_core::__private::function_id!("::Calendar::delete"),
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
    struct DeleteArgs {
        id: u64,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for DeleteArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<u64>("id", "")];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            __source.decode(&mut [&mut __f0])?;
            __Ok(Self { id: __tool::filled(__f0) })
        }
    }
    fn __tool_delete<'__a>(
        __this: &'__a Calendar,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: DeleteArgs = __call.arguments()?;
        match Calendar::delete(__this, __args.id) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    static __TOOL_PART: __tool::PartSpec<Calendar> = __tool::PartSpec::new(
            &[
                __tool::ToolSpec::new(
                        "delete",
                        "Delete an event.",
                        __tool_delete,
                        __tool::parameters::<DeleteArgs>(),
                    )
                    .at(::core::file!(), 0, __tool::path!("::Calendar::delete"))
                    .confirm(__tool::Confirm::Always)
                    .destructive(),
            ],
        )
        .at(::core::file!(), 0, __tool::path!("::Calendar"));
    __tool::inventory::submit! {
        __tool::Registration::part(& __TOOL_PART)
    }
};
