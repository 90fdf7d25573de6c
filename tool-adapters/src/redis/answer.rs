//! What a script has decided, in the words of the core.

use tool_core::Category;
use tool_core::session::{BudgetLimit, Charge, Refusal, StoreError, Verdict};

/// A script's answer.
pub(super) struct Answer {
    words: Vec<String>,
    turn: u64,
}

impl Answer {
    /// The words of an answer, and the turn in which it was given.
    pub(super) fn new(words: Vec<String>, turn: u64) -> Self {
        Self { words, turn }
    }

    pub(super) fn is(&self, word: &str) -> bool {
        self.words.first().is_some_and(|first| first == word)
    }

    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// What follows the first word.
    pub(super) fn second(&self) -> Option<&str> {
        self.words.get(1).map(String::as_str)
    }

    /// What it says of a call of a tool of `category`.
    pub(super) fn verdict(&self, category: Category) -> Result<Verdict, StoreError> {
        let (word, figures) = self.words.split_first().ok_or_else(not_understood)?;
        let figures = figures.iter().map(|figure| figure.parse::<u32>().map_err(|_| not_understood()));
        let figures = figures.collect::<Result<Vec<_>, _>>()?;
        let budget = |limit, used, of| Ok(Verdict::Refused(Refusal::Budget { limit, used, of }));
        match (word.as_str(), figures.as_slice()) {
            ("admitted", []) => Ok(Verdict::Admitted { turn: self.turn }),
            ("inactive", []) => Ok(Verdict::Inactive),
            ("repeated", [count]) => Ok(Verdict::Refused(Refusal::Repeated(*count))),
            ("empty", [count]) => Ok(Verdict::Refused(Refusal::Empty(*count))),
            ("tool", [used, of]) => budget(BudgetLimit::Tool, *used, *of),
            ("category", [used, of]) => budget(BudgetLimit::Category(category), *used, *of),
            ("total", [used, of]) => budget(BudgetLimit::Total, *used, *of),
            _ => Err(not_understood()),
        }
    }
}

/// A charge, as the scripts name it.
pub(super) fn charge(charge: Charge) -> Result<&'static str, StoreError> {
    Ok(match charge {
        Charge::Run => "run",
        Charge::Hold => "hold",
        Charge::Attempt => "attempt",
        Charge::Approved => "approved",
        Charge::Free => "free",
        // Rather no call than one that is not counted.
        _ => return Err(StoreError::new("a charge that this version of the Redis store does not know")),
    })
}

fn not_understood() -> StoreError {
    StoreError::new("Redis answered something that no script says")
}
