impl Calendar {
    /// Delete an event.
    fn delete(&self, id: u64) {
        ::tool_core::__private::body::<()>()
            .__tool_span(::tool_core::__private::function!("::Calendar::delete"))
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
    struct DeleteArgs {
        id: u64,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for DeleteArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<u64>("id", "")];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None,);
            __from.decode([&mut __f.0])?;
            __Ok(Self { id: __tool::filled(__f.0) })
        }
    }
    fn __tool_delete<'__a>(
        __this: &'__a Calendar,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: DeleteArgs = __call.arguments()?;
        __tool::done(
            __call,
            Calendar::delete(__this, __args.id),
            |__value| __value.__split().__value().__error(),
        )
    }
    static __TOOL_PART: __tool::PartSpec<Calendar> = __tool::PartSpec::new()
        .at(0, __tool::path!("::Calendar"))
        .tools(
            &[
                __tool::ToolSpec::new("delete", __tool_delete)
                    .description("Delete an event.")
                    .parameters::<DeleteArgs>()
                    .at(0, __tool::path!("::Calendar::delete"))
                    .confirm(__tool::Confirm::Always)
                    .destructive(),
            ],
        );
    __tool::inventory::submit! {
        __tool::Registration::part(& __TOOL_PART)
    }
};
