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
        fn decode<__F: __tool::Fields<'__de>>(
            __f: &mut __F,
        ) -> __Result<Self, __F::Error> {
            let mut __f0 = __None;
            while let __Some(__index) = __f.next(Self::PARAMETERS)? {
                match __index {
                    _ => __f0 = __Some(__f.value()?),
                }
            }
            __Ok(Self {
                query: __f.required(__f0, 0)?,
            })
        }
    }
    fn __tool_look_up<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args = __call.decode::<LookUpArgs>()?;
        let __ctx0 = __tool::context::<RunContext>(__call)?;
        let __ctx1 = __tool::context::<&User>(__call)?;
        let __ctx3 = __tool::context::<Cancellation>(__call)?;
        let __future = look_up(__ctx0, __ctx1, __args.query, __ctx3);
        __Ok(__tool::pending(async move { __tool::respond!(__call, __future. await) }))
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "look_up",
            "Look something up.",
            __tool_look_up,
            <LookUpArgs as __tool::ArgumentStruct>::PARAMETERS,
        )
        .at(::core::file!(), 0, __tool::path!("::look_up"))
        .uses_context()
        .output(__tool::output!(Page));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& look_up), & __TOOL_SPEC)
    }
};
