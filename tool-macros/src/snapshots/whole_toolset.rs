/// Reads mail.
impl Mail {
    async fn connect(&self) -> Result<(), MailError> {
        Ok(())
    }
    fn disconnect(&self) {}
    /// Read a mail.
    pub async fn read_one(&self, id: u64) -> impl Serialize {
        ::tool_core::__private::hidden_body()
            .__tool_span(::tool_core::__private::function!("::Mail::read_one", "read"))
            .run_async(move |__typed| async move { id })
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
    struct ReadOneArgs {
        id: u64,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for ReadOneArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<u64>("id", "")];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None,);
            __from.decode([&mut __f.0])?;
            __Ok(Self { id: __tool::filled(__f.0) })
        }
    }
    fn __tool_read_one<'__a>(
        __this: &'__a Mail,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: ReadOneArgs = __call.arguments()?;
        let __method = Mail::read_one(__this, __args.id);
        __tool::start(__call, __method, |__value| __value.__split().__value().__error())
    }
    impl __tool::MainToolsetBlock for Mail {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("mail")
            .description("Reads mail.")
            .at(0)
            .title("Mail")
            .prefix("mail")
            .auth(|| Auth::oauth2("google", &["mail"]))
            .no_discovery()
            .setup(|__this| __tool::lifecycle(async move {
                __tool::outcome!(Mail::connect(__this). await)
            }))
            .close(|__this| __tool::lifecycle(async move {
                __tool::outcome!(Mail::disconnect(__this))
            }));
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("read", __tool_read_one)
                .description("Read a mail.")
                .parameters::<ReadOneArgs>()
                .at(0, __tool::path!("::Mail::read_one"))
                .title("Read")
                .category(__tool::Category::Retrieval)
                .on_duplicate(__tool::OnDuplicate::Replace)
                .duplicate_scope(__tool::DuplicateScope::NameAndArgs)
                .modes(__tool::Modes::VOICE)
                .sequential()
                .cancellable()
                .max_output(1500)
                .max_calls(3),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Mail > ()
    }
};
