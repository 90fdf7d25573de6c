/// Look something up.
async fn look_up(
    ctx: RunContext,
    user: &User,
    query: String,
    cancel: Cancellation,
) -> Page {
    ::tool_core::__private::body::<Page>()
        .__tool_span(::tool_core::__private::function!("::look_up"))
        .run_async(move |__typed| async move {
            if let ::core::option::Option::Some(__typed) = __typed.value() {
                return __typed;
            }
            todo!()
        })
        .await
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    struct LookUpArgs {
        query: String,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for LookUpArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<String>("query", "")];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None,);
            __from.decode([&mut __f.0])?;
            __Ok(Self {
                query: __tool::filled(__f.0),
            })
        }
    }
    fn __tool_look_up<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: LookUpArgs = __call.arguments()?;
        let __contexts = (
            __tool::context::<RunContext>(__call)?,
            __tool::context::<&User>(__call)?,
            __tool::context::<Cancellation>(__call)?,
        );
        let __method = look_up(__contexts.0, __contexts.1, __args.query, __contexts.2);
        __tool::start(__call, __method, |__value| __value.__split().__value().__error())
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "look_up",
            __tool_look_up,
        )
        .description("Look something up.")
        .parameters::<LookUpArgs>()
        .at(0, __tool::path!("::look_up"))
        .uses_context()
        .output(|__generator| __tool::of_type::<Page>().__schema(__generator));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& look_up), & __TOOL_SPEC)
    }
};
