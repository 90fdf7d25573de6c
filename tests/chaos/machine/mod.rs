//! A session compared with a reference model, over random sequences of steps.

mod model;
mod world;

use model::Op;
use proptest::prelude::*;
use world::World;

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..2_u8, 0..3_u8).prop_map(|(same, q)| Op::Call("search", q + 4 * same)),
        4 => (0..4_u8).prop_map(|n| Op::Call("send", n)),
        6 => (0..7_u8).prop_map(|n| Op::Call("note", n)),
        1 => Just(Op::Call("speak", 0)),
        2 => (prop_oneof![Just("search"), Just("send"), Just("note")], 0..2_u8).prop_map(|(tool, n)| Op::Bad(tool, n)),
        1 => Just(Op::Unknown),
        4 => Just(Op::NextTurn),
        3 => (0..4_usize).prop_map(Op::Approve),
        2 => (0..4_usize).prop_map(Op::Deny),
        1 => Just(Op::Unsuppress),
        1 => Just(Op::End),
    ]
}

proptest! {
    // R-B2, R-B3, R-L1, R-L2, R-C1, R-C2, R-I1, R-I2, R-I3
    #[test]
    fn session_agrees_with_a_reference_model(voice: bool, ops in prop::collection::vec(ops(), 1..60)) {
        crate::support::block_on(async {
            let mut world = World::new(voice).await;
            for (at, op) in ops.iter().enumerate() {
                let (said, expected) = (world.does(op).await, world.model.does(op));
                assert_eq!(said, expected, "{at}: {op:?}");
                assert_eq!(world.seen().await, world.model.seen(), "{at}: after {op:?}");
            }
        });
    }
}
