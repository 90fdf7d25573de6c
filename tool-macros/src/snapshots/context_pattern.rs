impl Desk {
    /// Find a guest.
    async fn find(&self, UserData(db): UserData<Db>, name: &str) -> Option<Guest> {
        ::tool_core::__private::body::<Option<Guest>>()
            .__tool_span(::tool_core::__private::function!("::Desk::find"))
            .run_async(move |__typed| async move {
                if let ::core::option::Option::Some(__typed) = __typed.value() {
                    return __typed;
                }
                db.find(name).await
            })
            .await
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct FindArgs<'__de> {
        name: __tool::Text<'__de>,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for FindArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<__String>("name", "")];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None,);
            __from.decode([&mut __f.0])?;
            __Ok(Self {
                name: __tool::filled(__f.0),
            })
        }
    }
    fn __tool_find<'__a>(
        __this: &'__a Desk,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: FindArgs<'_> = __call.arguments()?;
        let __contexts = (__tool::context::<UserData<Db>>(__call)?,);
        let __method = async move {
            Desk::find(__this, __contexts.0, &*__args.name).await
        };
        __tool::start(__call, __method, |__value| __value.__split().__value().__error())
    }
    impl __tool::MainToolsetBlock for Desk {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("desk")
            .at(0);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("find", __tool_find)
                .description("Find a guest.")
                .parameters::<FindArgs<'_>>()
                .at(0, __tool::path!("::Desk::find"))
                .uses_context()
                .output(|__generator| {
                    __tool::of_type::<Option<Guest>>().__schema(__generator)
                }),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Desk > ()
    }
};
