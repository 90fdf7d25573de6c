//! Whatever is serialised, whatever the limit.

use crate::json::tests::writer::shape::shape;
use crate::json::tests::writer::{bounded, expected, written};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_serialised_is_what_serde_json_writes_or_the_same_error(value in shape()) {
        prop_assert_eq!(written(&value), expected(&value));
    }

    #[test]
    fn under_a_limit_the_text_is_the_beginning_of_the_whole(value in shape(), share in 0.0..1.2) {
        let Ok(whole) = expected(&value) else { return Ok(()) };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // a share
        let limit = (whole.len() as f64 * share) as usize;
        let (text, full, error) = bounded(&value, limit);
        prop_assert_eq!(full, whole.len() > limit);
        prop_assert_eq!(error.is_some(), full);
        prop_assert_eq!(text.as_str(), &whole[..whole.floor_char_boundary(limit)]);
    }
}
