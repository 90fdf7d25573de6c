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
    ::tool_core::__private::body::<()>()
        .__tool_span(::tool_core::__private::function!("::send"))
        .run(move || -> () {})
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
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
                        || __tool::literal_value("\"ada\""),
                        || __tool::to_json(&(|| -> String { NAMES[0] })()),
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
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None, __None, __None, __None, __None, __None, __None);
            let __decoded = __from
                .read([
                    &mut __f.0,
                    &mut __f.1,
                    &mut __f.2,
                    &mut __f.3,
                    &mut __f.4,
                    &mut __f.5,
                    &mut __f.6,
                ])?;
            let __args = Self {
                to: __tool::filled(__f.0),
                subject: __tool::filled(__f.1),
                copies: __tool::filled(__f.2),
                priority: __f
                    .3
                    .unwrap_or_else(|| -> String { ::core::convert::Into::into("low") }),
                weight: __tool::filled(__f.4),
                chance: __tool::filled(__f.5),
                tries: __tool::filled(__f.6),
            };
            __from.check(0, __tool::has_length(&__args.to, Self::row(0)))?;
            __from.check(0, __tool::matches_pattern(&__args.to, Self::row(0)))?;
            __from.check(1, __tool::has_length(&__args.subject, Self::row(1)))?;
            __from.check(2, __tool::has_items(&__args.copies, Self::row(2)))?;
            __from.check(2, __tool::has_format(&__args.copies, Self::row(2)))?;
            __from.check(3, __tool::is_one_of(&__args.priority, Self::row(3)))?;
            __from.check(4, __tool::is_one_of(&__args.weight, Self::row(4)))?;
            __from.check(5, __tool::in_range(&__args.chance, Self::row(5)))?;
            __from.check(6, __tool::in_range(&__args.tries, Self::row(6)))?;
            __from.accept(__decoded, __args)
        }
    }
    fn __tool_send<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: SendArgs<'_> = __call.arguments()?;
        __tool::done(
            __call,
            send(
                __args.to,
                &*__args.subject,
                __args.copies,
                __args.priority,
                __args.weight,
                __args.chance,
                __args.tries,
            ),
            |__value| __value.__split().__value().__error(),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new("send", __tool_send)
        .description("Send a message.")
        .parameters::<SendArgs<'_>>()
        .at(0, __tool::path!("::send"));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& send), & __TOOL_SPEC)
    }
};
