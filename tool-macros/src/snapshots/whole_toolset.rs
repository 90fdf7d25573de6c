/// Reads mail.
impl Mail {
    async fn connect(&self) -> Result<(), MailError> {
        Ok(())
    }
    fn disconnect(&self) {}
    /// Read a mail.
    pub async fn read_one(&self, id: u64) -> impl Serialize {
        ::tool_core::__private::tool_span!("read", "::Mail::read_one")
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
    struct ReadOneArgs {
        id: u64,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for ReadOneArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<u64>("id", "")];
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            let mut f0 = __None;
            while let __Some(index) = fields.next(Self::PARAMETERS)? {
                match index {
                    _ => f0 = __Some(fields.value()?),
                }
            }
            __Ok(Self {
                id: fields.required(f0, 0)?,
            })
        }
    }
    fn __tool_read_one<'__a>(
        this: &'__a Mail,
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<ReadOneArgs>()?;
        let future = Mail::read_one(this, args.id);
        __Ok(__tool::pending(async move { __tool::respond!(call, future. await) }))
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
                            <ReadOneArgs as __tool::ArgumentStruct>::PARAMETERS,
                        )
                        .at(file!(), 0, concat!(module_path!(), "::Mail::read_one"))
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
            .at(file!(), 0, concat!(module_path!(), "::Mail"))
            .title("Mail")
            .prefix("mail")
            .auth(|| Auth::oauth2("google", &["mail"]))
            .no_discovery()
            .setup(|this| __tool::lifecycle(async move {
                __tool::outcome!(Mail::connect(this). await)
            }))
            .close(|this| __tool::lifecycle(async move {
                __tool::outcome!(Mail::disconnect(this))
            }));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Mail > (|| __tool::discovery!(Mail))
    }
};
