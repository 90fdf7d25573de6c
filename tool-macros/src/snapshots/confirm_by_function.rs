impl Bank {
    /// Close an account.
    fn close_account(&self, id: u64, other: CloseAccountArgs) {
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
    struct __ToolCloseAccountArgs {
        id: u64,
        other: CloseAccountArgs,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for __ToolCloseAccountArgs {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<u64>("id", ""),
            __Row::new::<CloseAccountArgs>("other", ""),
        ];
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            let mut f0 = __None;
            let mut f1 = __None;
            while let __Some(index) = fields.next(Self::PARAMETERS)? {
                match index {
                    0 => f0 = __Some(fields.value()?),
                    _ => f1 = __Some(fields.value()?),
                }
            }
            __Ok(Self {
                id: fields.required(f0, 0)?,
                other: fields.required(f1, 1)?,
            })
        }
    }
    fn __tool_close_account<'__a>(
        this: &'__a Bank,
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<__ToolCloseAccountArgs>()?;
        __Ok(__tool::respond!(call, Bank::close_account(this, args.id, args.other)))
    }
    fn __tool_confirm_close_account(text: &str) -> bool {
        let decide: fn(&__ToolCloseAccountArgs) -> bool = <Bank>::is_large;
        __tool::decode_arguments::<__ToolCloseAccountArgs>(text)
            .map_or(true, |args| decide(&args))
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
                            <__ToolCloseAccountArgs as __tool::ArgumentStruct>::PARAMETERS,
                        )
                        .at(file!(), 0, concat!(module_path!(), "::Bank::close_account"))
                        .confirm(__tool::Confirm::When(__tool_confirm_close_account)),
                ],
            )
            .at(file!(), 0, concat!(module_path!(), "::Bank"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Bank > (|| __tool::discovery!(Bank))
    }
};
