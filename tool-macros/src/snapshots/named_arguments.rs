impl Bank {
    /// Move money.
    pub async fn transfer(&self, to: &str, amount: u64) -> Result<Receipt, BankError> {
        ::tool_core::__private::tool_span!(
            "transfer", "::Bank::transfer", Result < Receipt, BankError >
        )
            .run_async(async move {
                ::tool_core::__private::returns!(Result < Receipt, BankError >);
                todo!()
            })
            .await
    }
}
///The arguments of the tool `transfer`.
pub struct TransferArgs<'__de> {
    ///To whom
    pub to: ::tool_core::__private::Text<'__de>,
    ///`amount`
    pub amount: u64,
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    impl<'__de> __tool::ArgumentStruct<'__de> for TransferArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<__String>("to", "To whom"),
            __Row::new::<u64>("amount", ""),
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
                to: fields.required(f0, 0)?,
                amount: fields.required(f1, 1)?,
            })
        }
    }
    impl<'__de> __tool::serde::Deserialize<'__de> for TransferArgs<'__de> {
        fn deserialize<D: __tool::serde::Deserializer<'__de>>(
            from: D,
        ) -> __Result<Self, D::Error> {
            __tool::deserialize_arguments(from)
        }
    }
    fn __tool_transfer<'__a>(
        this: &'__a Bank,
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<TransferArgs<'__a>>()?;
        __Ok(
            __tool::pending(async move {
                __tool::respond!(
                    call, Bank::transfer(this, & * args.to, args.amount). await
                )
            }),
        )
    }
    fn __tool_confirm_transfer(text: &str) -> bool {
        let decide: fn(&TransferArgs<'_>) -> bool = |args: &TransferArgs| {
            args.amount > 100
        };
        __tool::decode_arguments::<TransferArgs<'_>>(text)
            .map_or(true, |args| decide(&args))
    }
    impl __tool::MainToolsetBlock for Bank {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "bank",
                "",
                &[
                    __tool::ToolSpec::new(
                            "transfer",
                            "Move money.",
                            __tool_transfer,
                            <TransferArgs<'_> as __tool::ArgumentStruct>::PARAMETERS,
                        )
                        .at(file!(), 0, concat!(module_path!(), "::Bank::transfer"))
                        .confirm(__tool::Confirm::When(__tool_confirm_transfer))
                        .output(|g| __tool::output!(g, Result < Receipt, BankError >)),
                ],
            )
            .at(file!(), 0, concat!(module_path!(), "::Bank"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Bank > (|| __tool::discovery!(Bank))
    }
};
