//! Constants as the bounds of limits.
#![allow(clippy::all, clippy::pedantic)]

use tool_core::{ToolContext, toolset};

const MOST: u32 = 9;
const LONGEST: usize = 80;
const LIMIT: f64 = 0.5;
const WIDE: u128 = 1 << 100;

struct Search;

impl Search {
    const LEAST: u8 = 2;
}

#[toolset(discover = false)]
impl Search {
    /// Search.
    #[tool]
    fn search(
        &self,
        #[arg(length(1..=LONGEST))] query: &str,
        #[arg(length(LONGEST))] exact: Option<String>,
        #[arg(range(1..=MOST), default = 3)] pages: u32,
        #[arg(range(Self::LEAST..), items(..LONGEST))] figures: Vec<u8>,
        #[arg(range(-1.0..LIMIT))] share: Option<f64>,
        #[arg(range(u64::MAX..))] large: u64,
        #[arg(range(..=WIDE))] wide: u128,
    ) -> usize {
        let _ = (exact, figures, share, large, wide);
        query.len() + pages as usize
    }
}

#[test]
fn bounds_may_be_constants() {
    let tools = ToolContext::builder().with(Search).build().expect("sound");
    let schema = tools
        .definitions()
        .next()
        .expect("one")
        .parameters()
        .clone();
    let of = |pointer: &str| schema.pointer(&format!("/properties/{pointer}")).cloned();
    assert_eq!(of("query/maxLength"), Some(80.into()));
    assert_eq!(of("exact/minLength"), Some(80.into()));
    assert_eq!(of("pages/maximum"), Some(9.into()));
    assert_eq!(of("figures/items/minimum"), Some(2.into()));
    assert_eq!(of("figures/maxItems"), Some(79.into()));
    assert_eq!(of("share/exclusiveMaximum"), Some(0.5.into()));
    assert_eq!(of("large/minimum"), Some(u64::MAX.into()));
    assert_eq!(of("wide/maximum"), Some((WIDE as f64).into()));
}
