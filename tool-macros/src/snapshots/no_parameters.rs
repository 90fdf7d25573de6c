/// Says that the service is there.
fn ping() {
    ::tool_core::__private::body::<()>()
        .__tool_span("ping", ::tool_core::__private::function_id!("::ping"))
        .run(move || -> () {})
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
    struct PingArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for PingArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            __source.decode(&mut [])?;
            __Ok(Self {})
        }
    }
    fn __tool_ping<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: PingArgs = __call.arguments()?;
        match ping() {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "ping",
            "Says that the service is there.",
            __tool_ping,
            __tool::parameters::<PingArgs>(),
        )
        .at(::core::file!(), 0, __tool::path!("::ping"))
        .idempotent();
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& ping), & __TOOL_SPEC)
    }
};
