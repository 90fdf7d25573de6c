//! The budgets of what a server asks of the host: of each call, and of each session.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tool_core::RunContext;

/// The budget of a server's requests to the host's model.
///
/// Tokens are those that are read and written. A request is charged its maximum in advance, and
/// corrected to the usage that the host's handler reports. Without one, the maximum stays charged.
/// Calls outside a session share the budget of one.
///
/// ```
/// use tool_adapters::mcp::{McpClient, SamplingBudget};
///
/// let budget = SamplingBudget::new(20, 50_000).per_call(2, 5_000);
/// let writer = McpClient::url("https://writer.example/mcp").allow_sampling(budget);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct SamplingBudget {
    pub(crate) session: Amount,
    pub(crate) call: Amount,
}

/// Requests and tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) requests: u32,
    pub(crate) tokens: u64,
}

impl SamplingBudget {
    /// Creates a budget of this many requests and tokens for a session. One call may have all of
    /// them.
    pub const fn new(requests: u32, tokens: u64) -> Self {
        let session = Amount { requests, tokens };
        Self {
            session,
            call: session,
        }
    }

    /// Sets the requests and tokens that one call may have of the session's.
    pub const fn per_call(self, requests: u32, tokens: u64) -> Self {
        Self {
            call: Amount { requests, tokens },
            ..self
        }
    }
}

/// The amounts that were spent.
#[derive(Debug, Default)]
pub(crate) struct Spending(Mutex<Spent>);

#[derive(Debug, Default)]
struct Spent {
    sampled: Amount,
    questions: u32,
}

impl Spending {
    /// Counts a question. Returns false if there were as many.
    fn ask(&self, limit: u32) -> bool {
        let mut spent = self.0.lock();
        let admitted = spent.questions < limit;
        spent.questions += u32::from(admitted);
        admitted
    }

    /// Counts a request, and charges up to `wanted` tokens, of which at least `least` have to be
    /// left. Returns the tokens, or what is spent.
    fn charge(&self, limit: Amount, least: u64, wanted: u64) -> Result<u64, &'static str> {
        let mut spent = self.0.lock();
        let left = limit.tokens.saturating_sub(spent.sampled.tokens);
        if spent.sampled.requests >= limit.requests {
            return Err("requests");
        }
        if left < least {
            return Err("tokens");
        }
        let charged = wanted.min(left);
        spent.sampled.requests += 1;
        spent.sampled.tokens += charged;
        Ok(charged)
    }

    fn correct(&self, charged: u64, used: u64) {
        let mut spent = self.0.lock();
        spent.sampled.tokens = spent
            .sampled
            .tokens
            .saturating_sub(charged)
            .saturating_add(used);
    }

    fn refund(&self, charged: u64) {
        let mut spent = self.0.lock();
        spent.sampled.requests = spent.sampled.requests.saturating_sub(1);
        spent.sampled.tokens = spent.sampled.tokens.saturating_sub(charged);
    }
}

/// The spending of a session, by the server.
#[derive(Debug, Default)]
struct SessionSpending(Mutex<HashMap<u64, Arc<Spending>>>);

/// The spending for one server: outside of sessions, and the key in those of sessions.
#[derive(Debug)]
pub(crate) struct ServerSpending {
    key: u64,
    outside: Arc<Spending>,
}

impl Default for ServerSpending {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            key: NEXT.fetch_add(1, Ordering::Relaxed),
            outside: Arc::default(),
        }
    }
}

impl ServerSpending {
    /// Returns the spending of the session of a run.
    fn of_session(&self, ctx: &RunContext) -> Arc<Spending> {
        let Some(sessions) = ctx.session_memo::<SessionSpending>() else {
            return Arc::clone(&self.outside);
        };
        let mut servers = sessions.0.lock();
        Arc::clone(servers.entry(self.key).or_default())
    }

    /// Counts a question of a session. Returns false if there were as many.
    pub(crate) fn ask(&self, ctx: &RunContext, limit: u32) -> bool {
        self.of_session(ctx).ask(limit)
    }

    /// Charges a request of a call. At least `least` tokens have to be left, and `wanted` are
    /// charged if so many are left.
    pub(crate) fn charge<'a>(
        &self,
        ctx: &RunContext,
        call: &'a Spending,
        budget: &SamplingBudget,
        (least, wanted): (u64, u64),
    ) -> Result<Charge<'a>, String> {
        let spent = |what: &str, whose: &str| {
            format!("the {what} that this server may use of the model in a {whose} are spent")
        };
        let charged = call
            .charge(budget.call, least, wanted)
            .map_err(|what| spent(what, "call"))?;
        let session = self.of_session(ctx);
        match session.charge(budget.session, least, charged) {
            Ok(tokens) => {
                call.correct(charged, tokens);
                Ok(Charge {
                    call,
                    session,
                    tokens,
                })
            }
            Err(what) => {
                call.refund(charged);
                Err(spent(what, "session"))
            }
        }
    }
}

/// The charge for a request.
pub(crate) struct Charge<'a> {
    call: &'a Spending,
    session: Arc<Spending>,
    pub(crate) tokens: u64,
}

impl Charge<'_> {
    /// Corrects the charge to the tokens that were used.
    pub(crate) fn correct(self, used: u64) {
        self.call.correct(self.tokens, used);
        self.session.correct(self.tokens, used);
    }

    /// Takes the charge back, because no model was asked.
    pub(crate) fn refund(self) {
        self.call.refund(self.tokens);
        self.session.refund(self.tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_tokens_of_a_call_and_of_all_calls_are_bounded() {
        let server = ServerSpending::default();
        let ctx = RunContext::detached();
        let budget = SamplingBudget::new(4, 1_000).per_call(2, 600);
        let one = Spending::default();
        let other = Spending::default();
        let charge = |call, wanted| server.charge(&ctx, call, &budget, (10, wanted));
        assert_eq!(charge(&one, 500).expect("both have them").tokens, 500);
        assert_eq!(charge(&one, 500).expect("the call has 100").tokens, 100);
        assert!(
            charge(&one, 10).is_err_and(|why| why.contains("requests") && why.contains("call"))
        );
        assert_eq!(
            charge(&other, 600).expect("the session has 400").tokens,
            400
        );
        assert!(
            charge(&other, 10).is_err_and(|why| why.contains("tokens") && why.contains("session"))
        );
    }

    #[test]
    fn usage_corrects_what_was_charged() {
        let server = ServerSpending::default();
        let ctx = RunContext::detached();
        let budget = SamplingBudget::new(10, 1_000);
        let call = Spending::default();
        for used in [100, 200, 300] {
            server
                .charge(&ctx, &call, &budget, (1, 1_000))
                .expect("room")
                .correct(used);
        }
        server
            .charge(&ctx, &call, &budget, (1, 1_000))
            .expect("room")
            .refund();
        assert_eq!(
            server
                .charge(&ctx, &call, &budget, (1, 1_000))
                .expect("room")
                .tokens,
            400
        );
        assert!(server.charge(&ctx, &call, &budget, (1, 1)).is_err());
    }
}
