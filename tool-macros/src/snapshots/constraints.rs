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
        .__tool_span("send", ::tool_core::__private::function_id!("::send"))
        .run(move || -> () {})
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
    fn __tool_send<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let mut __f0 = __None::<String>;
        let mut __f1 = __None::<__tool::Text<'__a>>;
        let mut __f2 = __None::<Vec<String>>;
        let mut __f3 = __None::<String>;
        let mut __f4 = __None::<i32>;
        let mut __f5 = __None::<f64>;
        let mut __f6 = __None::<u8>;
        let __decoded = __call
            .read(
                &mut [
                    &mut __f0,
                    &mut __f1,
                    &mut __f2,
                    &mut __f3,
                    &mut __f4,
                    &mut __f5,
                    &mut __f6,
                ],
            )?;
        let __f0 = __tool::filled(__f0);
        let __f1 = __tool::filled(__f1);
        let __f2 = __tool::filled(__f2);
        let __f3 = __f3
            .unwrap_or_else(|| -> String { ::core::convert::Into::into("low") });
        let __f4 = __tool::filled(__f4);
        let __f5 = __tool::filled(__f5);
        let __f6 = __tool::filled(__f6);
        __call.check(0, __tool::has_length(&__f0, __call.parameter(0)))?;
        __call.check(0, __tool::matches_pattern(&__f0, __call.parameter(0)))?;
        __call.check(1, __tool::has_length(&__f1, __call.parameter(1)))?;
        __call.check(2, __tool::has_items(&__f2, __call.parameter(2)))?;
        __call.check(2, __tool::has_format(&__f2, __call.parameter(2)))?;
        __call.check(3, __tool::is_one_of(&__f3, __call.parameter(3)))?;
        __call.check(4, __tool::is_one_of(&__f4, __call.parameter(4)))?;
        __call.check(5, __tool::in_range(&__f5, __call.parameter(5)))?;
        __call.check(6, __tool::in_range(&__f6, __call.parameter(6)))?;
        __call.accept(__decoded)?;
        match send(__f0, &*__f1, __f2, __f3, __f4, __f5, __f6) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "send",
            "Send a message.",
            __tool_send,
            &[
                __Row::new::<String>("to", "")
                    .constraints(
                        &[
                            __Limit::Length(__Some(1), __Some(80)),
                            __Limit::Pattern("^[a-z]+$"),
                        ],
                    )
                    .examples(
                        &[
                            || __tool::to_json(&"ada"),
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
            ],
        )
        .at(::core::file!(), 0, __tool::path!("::send"));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& send), & __TOOL_SPEC)
    }
};
