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
        fn decode<__M: __tool::serde::de::MapAccess<'__de>>(
            __f: &mut __tool::Fields<__M>,
        ) -> __Result<Self, __M::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            while let __Some(__index) = __f.next(Self::PARAMETERS)? {
                match __index {
                    0 => __f0 = __Some(__f.value()?),
                    _ => __f1 = __Some(__f.value()?),
                }
            }
            __Ok(Self {
                to: __f.required(__f0, 0)?,
                amount: __f.required(__f1, 1)?,
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
        let mut __f0 = __None::<__tool::Text<'__a>>;
        let mut __f1 = __None::<u64>;
        __call.decode(&mut [&mut __f0, &mut __f1])?;
        let __f0 = __tool::filled(__f0);
        __Ok(
            __tool::start(
                __call,
                async move {
                    Bank::transfer(__this, &*__f0, __tool::filled(__f1)).await
                },
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
                            <TransferArgs<'_> as __tool::ArgumentStruct>::PARAMETERS,
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
