/// Says that the service is there.
fn ping() {
    ::tool_core::__private::body::<()>()
        .__tool_span(::tool_core::__private::function!("::ping"))
        .run(move || -> () {})
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    struct PingArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for PingArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            __from.decode([])?;
            __Ok(Self {})
        }
    }
    fn __tool_ping<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: PingArgs = __call.arguments()?;
        __tool::done(__call, ping(), |__value| __value.__split().__value().__error())
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new("ping", __tool_ping)
        .description("Says that the service is there.")
        .at(0, __tool::path!("::ping"))
        .idempotent();
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& ping), & __TOOL_SPEC)
    }
};
