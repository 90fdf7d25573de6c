/// Look something up.
async fn look_up(
    ctx: RunContext,
    user: &User,
    query: String,
    cancel: Cancellation,
) -> Page {
    ::tool_core::__private::tool_span!("look_up", "::look_up", Page)
        .run_async(async move {
            ::tool_core::__private::returns!(Page);
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
    struct LookUpArgs {
        query: String,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for LookUpArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<String>("query", "")];
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            let mut f0 = __None;
            while let __Some(index) = fields.next(Self::PARAMETERS)? {
                match index {
                    _ => f0 = __Some(fields.value()?),
                }
            }
            __Ok(Self {
                query: fields.required(f0, 0)?,
            })
        }
    }
    fn __tool_look_up<'__a>(
        _: &'__a (),
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<LookUpArgs>()?;
        let ctx0 = __tool::context::<RunContext>(call)?;
        let ctx1 = __tool::context::<&User>(call)?;
        let ctx3 = __tool::context::<Cancellation>(call)?;
        let future = look_up(ctx0, ctx1, args.query, ctx3);
        __Ok(__tool::pending(async move { __tool::respond!(call, future. await) }))
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "look_up",
            "Look something up.",
            __tool_look_up,
            <LookUpArgs as __tool::ArgumentStruct>::PARAMETERS,
        )
        .at(file!(), 0, concat!(module_path!(), "::look_up"))
        .uses_context()
        .output(|g| __tool::output!(g, Page));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& look_up), & __TOOL_SPEC)
    }
};
