/// Reads mail.
impl Mail {
    async fn connect(&self) -> Result<(), MailError> {
        Ok(())
    }
    fn disconnect(&self) {}
    /// Read a mail.
    pub async fn read_one(&self, id: u64) -> impl Serialize {
        ::tool_core::__private::hidden_body()
            .__tool_span(
                "read",
                ::tool_core::__private::function_id!("::Mail::read_one"),
            )
            .run_async(async move { id })
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
    struct ReadOneArgs {
        id: u64,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for ReadOneArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<u64>("id", "")];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            __source.decode(&mut [&mut __f0])?;
            __Ok(Self { id: __tool::filled(__f0) })
        }
    }
    fn __tool_read_one<'__a>(
        __this: &'__a Mail,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: ReadOneArgs = __call.arguments()?;
        __Ok(
            __tool::start(
                __call,
                Mail::read_one(__this, __args.id),
                |__value, __call| __tool::respond!(__call, __value),
            ),
        )
    }
    impl __tool::MainToolsetBlock for Mail {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "mail",
                "Reads mail.",
                &[
                    __tool::ToolSpec::new(
                            "read",
                            "Read a mail.",
                            __tool_read_one,
                            __tool::parameters::<ReadOneArgs>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Mail::read_one"))
                        .title("Read")
                        .category(__tool::Category::Retrieval)
                        .on_duplicate(__tool::OnDuplicate::Replace)
                        .duplicate_scope(__tool::DuplicateScope::NameAndArgs)
                        .modes(__tool::Modes::VOICE)
                        .sequential()
                        .cancellable()
                        .max_output(1500)
                        .max_calls(3),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Mail"))
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
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Mail > (|| __tool::discovery!(Mail))
    }
};
