/// Send a message.
fn send(
    to: String,
    subject: &str,
    copies: Vec<String>,
    priority: String,
    weight: i32,
    chance: f64,
    tries: u8,
) {
    ::tool_core::__private::tool_span!("send", "::send", ()).run(move || -> () {})
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    struct SendArgs<'__de> {
        to: String,
        subject: __tool::Text<'__de>,
        copies: Vec<String>,
        priority: String,
        weight: i32,
        chance: f64,
        tries: u8,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for SendArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<String>("to", "")
                .constraints(
                    &[
                        __Limit::Length(__Some(1), __Some(80)),
                        __Limit::Pattern("^[a-z]+$"),
                    ],
                )
                .examples(
                    &[
                        || __tool::default_json(&"ada"),
                        || __tool::default_json::<String>(&(NAMES[0])),
                    ],
                ),
            __Row::new::<__String>("subject", "")
                .constraints(&[__Limit::Length(__None, __Some(99))]),
            __Row::new::<Vec<String>>("copies", "")
                .constraints(
                    &[__Limit::Items(__Some(1), __Some(3)), __Limit::Format("email")],
                ),
            __Row::new::<String>("priority", "")
                .default_literal("\"low\"")
                .constraints(
                    &[
                        __Limit::OneOf(
                            &[__tool::Literal::Str("low"), __tool::Literal::Str("high")],
                        ),
                    ],
                ),
            __Row::new::<i32>("weight", "")
                .constraints(
                    &[
                        __Limit::OneOf(
                            &[
                                __tool::Literal::Number(__tool::Number::Int(1)),
                                __tool::Literal::Number(__tool::Number::Int(2)),
                                __tool::Literal::Number(__tool::Number::Int(-4)),
                            ],
                        ),
                    ],
                ),
            __Row::new::<f64>("chance", "")
                .constraints(
                    &[
                        __Limit::range(
                            __Some(__tool::Number::Float(0.0)),
                            __Some(__tool::Number::Float(1.0)),
                            true,
                        ),
                    ],
                ),
            __Row::new::<u8>("tries", "")
                .constraints(&[__Limit::integers(__None, __Some(10), false)]),
        ];
        fn decode<__F: __tool::Fields<'__de>>(
            __f: &mut __F,
        ) -> __Result<Self, __F::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            let mut __f2 = __None;
            let mut __f3 = __None;
            let mut __f4 = __None;
            let mut __f5 = __None;
            let mut __f6 = __None;
            while let __Some(__index) = __f.next(Self::PARAMETERS)? {
                match __index {
                    0 => __f0 = __Some(__f.value()?),
                    1 => __f1 = __Some(__f.value()?),
                    2 => __f2 = __Some(__f.value()?),
                    3 => __f3 = __Some(__f.value()?),
                    4 => __f4 = __Some(__f.value()?),
                    5 => __f5 = __Some(__f.value()?),
                    _ => __f6 = __Some(__f.value()?),
                }
            }
            let __args = Self {
                to: __f.required(__f0, 0)?,
                subject: __f.required(__f1, 1)?,
                copies: __f.required(__f2, 2)?,
                priority: __f3
                    .unwrap_or_else(|| -> String { ::core::convert::Into::into("low") }),
                weight: __f.required(__f4, 4)?,
                chance: __f.required(__f5, 5)?,
                tries: __f.required(__f6, 6)?,
            };
            __f.check(0, __tool::has_length(&__args.to, &Self::PARAMETERS[0]))?;
            __f.check(0, __tool::matches_pattern(&__args.to, &Self::PARAMETERS[0]))?;
            __f.check(1, __tool::has_length(&__args.subject, &Self::PARAMETERS[1]))?;
            __f.check(2, __tool::has_items(&__args.copies, &Self::PARAMETERS[2]))?;
            __f.check(2, __tool::has_format(&__args.copies, &Self::PARAMETERS[2]))?;
            __f.check(3, __tool::is_one_of(&__args.priority, &Self::PARAMETERS[3]))?;
            __f.check(4, __tool::is_one_of(&__args.weight, &Self::PARAMETERS[4]))?;
            __f.check(5, __tool::in_range(&__args.chance, &Self::PARAMETERS[5]))?;
            __f.check(6, __tool::in_range(&__args.tries, &Self::PARAMETERS[6]))?;
            __Ok(__args)
        }
    }
    fn __tool_send<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args = __call.decode::<SendArgs<'__a>>()?;
        __Ok(
            __tool::respond!(
                __call, send(__args.to, & * __args.subject, __args.copies, __args
                .priority, __args.weight, __args.chance, __args.tries)
            ),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "send",
            "Send a message.",
            __tool_send,
            <SendArgs<'_> as __tool::ArgumentStruct>::PARAMETERS,
        )
        .at(::core::file!(), 0, __tool::path!("::send"));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& send), & __TOOL_SPEC)
    }
};
