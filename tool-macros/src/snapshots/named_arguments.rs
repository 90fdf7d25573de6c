impl Bank {
    /// Move money.
    pub async fn transfer(&self, to: &str, amount: u64) -> Result<Receipt, BankError> {
        ::tool_core::__private::body::<Result<Receipt, BankError>>()
            .__tool_span(
                "transfer",
                ::tool_core::__private::function_id!("::Bank::transfer"),
            )
            .run_async(async move {
                ::tool_core::__returns!(Result < Receipt, BankError >);
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
    use __tool::locals::*;
    const _: () = {
        struct tool;
        use tool as _;
    };
    impl<'__de> __tool::ArgumentStruct<'__de> for TransferArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<__String>("to", "To whom"),
            __Row::new::<u64>("amount", ""),
        ];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            __source.decode(&mut [&mut __f0, &mut __f1])?;
            __Ok(Self {
                to: __tool::filled(__f0),
                amount: __tool::filled(__f1),
            })
        }
    }
    impl<'__de> __tool::serde::Deserialize<'__de> for TransferArgs<'__de> {
        fn deserialize<__D: __tool::serde::Deserializer<'__de>>(
            __from: __D,
        ) -> __Result<Self, __D::Error> {
            __tool::deserialize_arguments(__from)
        }
    }
    fn __tool_transfer<'__a>(
        __this: &'__a Bank,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: TransferArgs<'_> = __call.arguments()?;
        __Ok(
            __tool::start(
                __call,
                async move { Bank::transfer(__this, &*__args.to, __args.amount).await },
                |__value, __call| __tool::respond!(__call, __value),
            ),
        )
    }
    fn __tool_confirm_transfer(__text: &str) -> bool {
        __tool::decode_arguments::<TransferArgs<'_>>(__text)
            .map_or(
                true,
                |__args| {
                    let __decide: fn(&TransferArgs<'_>) -> bool = |args: &TransferArgs| {
                        args.amount > 100
                    };
                    __decide(&__args)
                },
            )
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
                            __tool::parameters::<TransferArgs<'_>>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Bank::transfer"))
                        .confirm(__tool::Confirm::When(__tool_confirm_transfer))
                        .output(__tool::output!(Result < Receipt, BankError >)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Bank"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Bank > (|| __tool::discovery!(Bank))
    }
};
