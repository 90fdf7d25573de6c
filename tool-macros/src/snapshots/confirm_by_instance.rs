impl Bank {
    /// Close an account.
    fn close_account(&self, id: u64) {
        crate::tools::__private::tool_span!("close_account", "::Bank::close_account", ())
            .run(move || -> () {})
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use crate::tools::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    struct CloseAccountArgs {
        id: u64,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for CloseAccountArgs {
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
    fn __tool_close_account<'__a>(
        this: &'__a Bank,
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<CloseAccountArgs>()?;
        __Ok(__tool::respond!(call, Bank::close_account(this, args.id)))
    }
    impl __tool::MainToolsetBlock for Bank {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "bank",
                "",
                &[
                    __tool::ToolSpec::new(
                            "close_account",
                            "Close an account.",
                            __tool_close_account,
                            <CloseAccountArgs as __tool::ArgumentStruct>::PARAMETERS,
                        )
                        .at(file!(), 0, concat!(module_path!(), "::Bank::close_account"))
                        .confirm(__tool::Confirm::Always)
                        .instance_confirm(|this| this.settings.asks),
                ],
            )
            .at(file!(), 0, concat!(module_path!(), "::Bank"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Bank > (|| __tool::discovery!(Bank))
    }
};
