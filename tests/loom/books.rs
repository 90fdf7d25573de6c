//! Limits and tokens of a session in memory: the books as they are, behind loom's lock.

#[path = "../../tool-core/src/runtime/store/memory/attempts.rs"]
mod attempts;
#[path = "../../tool-core/src/runtime/store/memory/ledger.rs"]
mod ledger;
#[path = "../../tool-core/src/runtime/store/memory/tokens.rs"]
mod tokens;

use crate::compare::Fingerprint;
use crate::every_order;
use crate::runtime::store::{Admission, BudgetLimit, Charge, PendingCall, Refusal, Settlement};
use ledger::Ledger;
use loom::sync::{Arc, Mutex};
use loom::thread;
use std::time::Duration;
use tokens::Tokens;
use tokio::time::Instant;
use tool_core::{Category, Mode, Policy};

fn admit(books: &Mutex<Ledger>, limit: u32, arguments: &str) -> Result<u64, Refusal> {
    let policy = Policy::text().max_calls(Some(limit));
    books.lock().expect("not poisoned").admit(&Admission {
        tool: "search",
        name: None,
        category: Category::Utility,
        arguments: Fingerprint(arguments),
        charge: Charge::Run,
        limits: policy.limits(),
        max_calls: None,
        now: Instant::now(),
    })
}

fn refund(books: &Mutex<Ledger>, turn: u64) {
    let settlement = Settlement { tool: "search", turn, refund: true, ..Settlement::default() };
    books.lock().expect("not poisoned").settle(&settlement);
}

/// What each of several threads brings back, the calling one first.
fn race<T: 'static>(threads: usize, work: impl Fn(usize) -> T + Clone + 'static) -> Vec<T> {
    let others = (1..threads).map(|number| {
        let work = work.clone();
        thread::spawn(move || work(number))
    });
    let others = others.collect::<Vec<_>>();
    let mut all = vec![work(0)];
    all.extend(others.into_iter().map(|thread| thread.join().expect("no panic")));
    all
}

// R-B2: N parallel calls on a limit of k admit exactly k
#[test]
fn of_three_threads_on_a_limit_of_two_exactly_two_are_admitted() {
    every_order(|| {
        let books = Arc::new(Mutex::new(Ledger::default()));
        let said = race(3, move |number| admit(&books, 2, &number.to_string()));
        assert_eq!(said.iter().filter(|said| said.is_ok()).count(), 2);
        let refused = Refusal::Budget { limit: BudgetLimit::Total, used: 2, of: 2 };
        assert_eq!(said.into_iter().find_map(Result::err), Some(refused));
    });
}

// R-L1: counted when admitted
#[test]
fn of_three_threads_with_the_same_call_exactly_one_is_the_third() {
    every_order(|| {
        let books = Arc::new(Mutex::new(Ledger::default()));
        let said = race(3, move |_| admit(&books, 9, "same"));
        assert_eq!(said.iter().filter(|said| **said == Err(Refusal::Repeated(3))).count(), 1);
    });
}

// R-B2: a budget that is given back is good for one more call, and for no two
#[test]
fn what_is_given_back_can_be_spent_once() {
    every_order(|| {
        let books = Arc::new(Mutex::new(Ledger::default()));
        let turn = admit(&books, 1, "first").expect("the first");
        let shared = Arc::clone(&books);
        let said = race(3, move |number| match number {
            0 => {
                refund(&shared, turn);
                false
            }
            number => admit(&shared, 1, &number.to_string()).is_ok(),
        });
        let admitted = said.into_iter().filter(|admitted| *admitted).count();
        assert!(admitted <= 1);
        assert_eq!(admit(&books, 1, "last").is_ok(), admitted == 0, "it is there for who comes after");
    });
}

// R-B2: a refund that comes after the turn's end is not the next turn's
#[test]
fn a_refund_that_comes_too_late_lifts_no_limit() {
    every_order(|| {
        let books = Arc::new(Mutex::new(Ledger::default()));
        let turn = admit(&books, 1, "first").expect("the first");
        let shared = Arc::clone(&books);
        race(2, move |number| match number {
            0 => _ = shared.lock().expect("not poisoned").next_turn(5),
            _ => refund(&shared, turn),
        });
        assert_eq!(admit(&books, 1, "a"), Ok(1));
        assert!(admit(&books, 1, "b").is_err());
    });
}

// R-C2: single use, decided on the server
#[test]
fn of_three_who_take_a_token_exactly_one_has_it() {
    every_order(|| {
        let (id, now) = ("0".repeat(32), Instant::now());
        let mut tokens = Tokens::default();
        tokens.mint(&pending(&id), now + Duration::from_mins(10), now);
        let tokens = Arc::new(Mutex::new(tokens));
        let taken = race(3, move |_| tokens.lock().expect("not poisoned").take(&id, now));
        assert_eq!(taken.into_iter().filter(|taken| *taken).count(), 1);
    });
}

fn pending(id: &str) -> PendingCall {
    PendingCall {
        id: id.to_owned(),
        principal: String::new(),
        session: "s".to_owned(),
        mode: Mode::Text,
        version: String::new(),
        call_id: "c".to_owned(),
        tool: "pay".to_owned(),
        arguments: "{}".to_owned(),
        expires_at: 0,
    }
}
