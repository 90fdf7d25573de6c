/// Look something up.
async fn look_up(
    ctx: RunContext,
    user: &User,
    query: String,
    cancel: Cancellation,
) -> Page {
    ::tool_core::__private::body::<Page>()
        .__tool_span("look_up", ::tool_core::__private::function_id!("::look_up"))
        .run_async(async move {
            ::tool_core::__returns!(Page);
            todo!()
        })
        .await
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
    struct LookUpArgs {
        query: String,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for LookUpArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<String>("query", "")];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            __source.decode(&mut [&mut __f0])?;
            __Ok(Self {
                query: __tool::filled(__f0),
            })
        }
    }
    fn __tool_look_up<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: LookUpArgs = __call.arguments()?;
        let __ctx0 = __tool::context::<RunContext>(__call)?;
        let __ctx1 = __tool::context::<&User>(__call)?;
        let __ctx3 = __tool::context::<Cancellation>(__call)?;
        __Ok(
            __tool::start(
                __call,
                look_up(__ctx0, __ctx1, __args.query, __ctx3),
                |__value, __call| __tool::respond!(__call, __value),
            ),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "look_up",
            "Look something up.",
            __tool_look_up,
            __tool::parameters::<LookUpArgs>(),
        )
        .at(::core::file!(), 0, __tool::path!("::look_up"))
        .uses_context()
        .output(__tool::output!(Page));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& look_up), & __TOOL_SPEC)
    }
};
