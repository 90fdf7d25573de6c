impl Desk {
    /// Find a guest.
    async fn find(&self, UserData(db): UserData<Db>, name: &str) -> Option<Guest> {
        ::tool_core::__private::body::<Option<Guest>>()
            .__tool_span("find", ::tool_core::__private::function_id!("::Desk::find"))
            .run_async(async move {
                ::tool_core::__returns!(Option < Guest >);
                db.find(name).await
            })
            .await
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
    struct FindArgs<'__de> {
        name: __tool::Text<'__de>,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for FindArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<__String>("name", "")];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            __source.decode(&mut [&mut __f0])?;
            __Ok(Self { name: __tool::filled(__f0) })
        }
    }
    fn __tool_find<'__a>(
        __this: &'__a Desk,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: FindArgs<'_> = __call.arguments()?;
        let __ctx0 = __tool::context::<UserData<Db>>(__call)?;
        __Ok(
            __tool::start(
                __call,
                async move { Desk::find(__this, __ctx0, &*__args.name).await },
                |__value, __call| __tool::respond!(__call, __value),
            ),
        )
    }
    impl __tool::MainToolsetBlock for Desk {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "desk",
                "",
                &[
                    __tool::ToolSpec::new(
                            "find",
                            "Find a guest.",
                            __tool_find,
                            __tool::parameters::<FindArgs<'_>>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Desk::find"))
                        .uses_context()
                        .output(__tool::output!(Option < Guest >)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Desk"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Desk > (|| __tool::discovery!(Desk))
    }
};
