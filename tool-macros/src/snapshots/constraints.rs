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
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            let mut f0 = __None;
            let mut f1 = __None;
            let mut f2 = __None;
            let mut f3 = __None;
            let mut f4 = __None;
            let mut f5 = __None;
            let mut f6 = __None;
            while let __Some(index) = fields.next(Self::PARAMETERS)? {
                match index {
                    0 => f0 = __Some(fields.value()?),
                    1 => f1 = __Some(fields.value()?),
                    2 => f2 = __Some(fields.value()?),
                    3 => f3 = __Some(fields.value()?),
                    4 => f4 = __Some(fields.value()?),
                    5 => f5 = __Some(fields.value()?),
                    _ => f6 = __Some(fields.value()?),
                }
            }
            let args = Self {
                to: fields.required(f0, 0)?,
                subject: fields.required(f1, 1)?,
                copies: fields.required(f2, 2)?,
                priority: f3
                    .unwrap_or_else(|| -> String { ::core::convert::Into::into("low") }),
                weight: fields.required(f4, 4)?,
                chance: fields.required(f5, 5)?,
                tries: fields.required(f6, 6)?,
            };
            fields.check(0, __tool::has_length(&args.to, &Self::PARAMETERS[0]))?;
            fields.check(0, __tool::matches_pattern(&args.to, &Self::PARAMETERS[0]))?;
            fields.check(1, __tool::has_length(&args.subject, &Self::PARAMETERS[1]))?;
            fields.check(2, __tool::has_items(&args.copies, &Self::PARAMETERS[2]))?;
            fields.check(2, __tool::has_format(&args.copies, &Self::PARAMETERS[2]))?;
            fields.check(3, __tool::is_one_of(&args.priority, &Self::PARAMETERS[3]))?;
            fields.check(4, __tool::is_one_of(&args.weight, &Self::PARAMETERS[4]))?;
            fields.check(5, __tool::in_range(&args.chance, &Self::PARAMETERS[5]))?;
            fields.check(6, __tool::in_range(&args.tries, &Self::PARAMETERS[6]))?;
            __Ok(args)
        }
    }
    fn __tool_send<'__a>(
        _: &'__a (),
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<SendArgs<'__a>>()?;
        __Ok(
            __tool::respond!(
                call, send(args.to, & * args.subject, args.copies, args.priority, args
                .weight, args.chance, args.tries)
            ),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "send",
            "Send a message.",
            __tool_send,
            <SendArgs<'_> as __tool::ArgumentStruct>::PARAMETERS,
        )
        .at(file!(), 0, concat!(module_path!(), "::send"));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& send), & __TOOL_SPEC)
    }
};
