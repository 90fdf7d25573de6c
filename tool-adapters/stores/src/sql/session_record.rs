//! One session in an SQL database, as a process knows it.

use crate::kept_values::{from_json, milliseconds, readable, to_json};
use crate::sql::session_copy::SessionCopy;
use crate::sql::session_row::{
    SESSION, SessionDatabase, SessionRow, incarnation_text, kept_calls, lock_session,
};
use crate::sql::values::{stored_id, text, unsigned};
use crate::sql::{SqlRow, SqlTransaction, id, number};
use std::sync::Arc;
use std::time::Duration;
use tool_core::Mode;
use tool_core::session::{
    Admission, AnsweredCallRecord, ApprovalRequest, ApprovalVerdict, AuditEntry, CallGrant,
    GrantRequest, GrantVerdict, OpenRequest, PendingCall, PrincipalCharge, PrincipalSpending,
    SessionCall, SessionRecord, SessionState, Settlement, Spending, StateChange, StoreError, Turn,
    Verdict, WaitingSize,
};
use tool_core::trace::Cost;

const ENTRIES: &str = "SELECT entry FROM tool_session_entries WHERE session = $1 \
    AND EXISTS (SELECT 1 FROM tool_sessions WHERE id = $1 AND incarnation = $2) ORDER BY number";

const ADD_ENTRY: &str =
    "INSERT INTO tool_session_entries (session, number, entry) VALUES ($1, $2, $3)";

const DROP_ENTRIES: &str = "DELETE FROM tool_session_entries WHERE session = $1 AND number < $2";

const ADD_CALL: &str =
    "INSERT INTO tool_session_calls (session, number, call, bytes) VALUES ($1, $2, $3, $4)";

const OLDEST_CALLS: &str =
    "SELECT number, bytes FROM tool_session_calls WHERE session = $1 ORDER BY number LIMIT 16";

const DROP_CALLS: &str = "DELETE FROM tool_session_calls WHERE session = $1 AND number <= $2";

const DROP_EXPIRED_APPROVALS: &str =
    "DELETE FROM tool_session_approvals WHERE session = $1 AND expires_at <= $2";

const DROP_APPROVALS: &str = "DELETE FROM tool_session_approvals WHERE session = $1";

const WAITING: &str = "SELECT turn, bytes FROM tool_session_approvals WHERE session = $1";

const ADD_APPROVAL: &str = "INSERT INTO tool_session_approvals \
    (session, id, call, turn, bytes, expires_at, principal) VALUES ($1, $2, $3, $4, $5, $6, $7)";

const APPROVAL: &str = "SELECT call FROM tool_session_approvals \
    WHERE session = $1 AND id = $2 AND expires_at > $3";

const TAKE_APPROVAL: &str =
    "DELETE FROM tool_session_approvals WHERE session = $1 AND id = $2 RETURNING expires_at";

const DROP_ENDED_GRANTS: &str =
    "DELETE FROM tool_session_grants WHERE session = $1 AND ends_at <= $2";

const DROP_GRANTS: &str = "DELETE FROM tool_session_grants WHERE session = $1";

const COUNT_GRANTS: &str = "SELECT count(*) FROM tool_session_grants WHERE session = $1";

const ADD_GRANT: &str =
    "INSERT INTO tool_session_grants (session, id, granted, ends_at) VALUES ($1, $2, $3, $4)";

const GRANTS: &str =
    "SELECT granted FROM tool_session_grants WHERE session = $1 AND ends_at > $2 ORDER BY id";

const REVOKE_GRANT: &str =
    "DELETE FROM tool_session_grants WHERE session = $1 AND id = $2 RETURNING ends_at";

const SPENDING: &str = "SELECT cost, time, ends_at FROM tool_principal_spending \
    WHERE principal = $1 AND ends_at > $2";

const ADD_SPENDING: &str = include_str!("add_spending.sql");

const NOTE_AMOUNT: &str = "INSERT INTO tool_added_amounts (id, known_until) VALUES ($1, $2) \
    ON CONFLICT (id) DO NOTHING RETURNING 1";

const NOW: &str = "SELECT now FROM tool_session_clock";

/// Maximum number of entries of the audit log that are kept.
const MAX_ENTRIES: u64 = 1000;

/// Milliseconds for which the id of an amount is known, so that it is added once however often it
/// is sent.
const KNOWN_AMOUNTS: u64 = 600_000;

/// The greatest amount that the database keeps, in picodollars or microseconds.
const MAX_AMOUNT: u64 = 9_000_000_000_000_000_000;

/// One session of an [`SqlStore`](super::SqlStore).
pub struct SqlSession<D> {
    database: D,
    /// The id, the incarnation and the principal as the database has them.
    id: String,
    incarnation_text: String,
    principal: String,
    incarnation: u128,
    /// The bytes that the session's calls may take.
    call_bytes: u64,
    copy: SessionCopy,
}

#[allow(private_bounds)] // only this crate implements the trait
impl<D: SessionDatabase> SqlSession<D> {
    pub(crate) fn new(database: D, request: &OpenRequest, incarnation: u128) -> Self {
        Self {
            database,
            id: stored_id(request.id.as_str()).into_owned(),
            incarnation_text: incarnation_text(incarnation),
            principal: stored_id(&request.principal).into_owned(),
            incarnation,
            call_bytes: request.call_bytes as u64,
            copy: SessionCopy::default(),
        }
    }

    /// Updates the copy.
    pub(crate) fn update(&self, row: &SessionRow) {
        self.copy.update(&row.session);
        if !row.is_live() {
            self.copy.close();
        }
    }

    /// Locks the session. Returns `None` if the database no longer knows it.
    async fn lock(&self) -> Result<Option<LockedSession<'_, D>>, StoreError> {
        let mut transaction = self.database.begin().await?;
        let found = lock_session::<D>(&mut transaction, &self.id).await?;
        let Some(row) = found.filter(|row| row.incarnation == self.incarnation_text) else {
            self.copy.close();
            return Ok(None);
        };
        Ok(Some(LockedSession {
            record: self,
            transaction,
            row,
        }))
    }

    /// Locks the session. Returns `None` if it is over, and updates the copy.
    async fn lock_live(&self) -> Result<Option<LockedSession<'_, D>>, StoreError> {
        let Some(mut locked) = self.lock().await? else {
            return Ok(None);
        };
        if locked.row.is_live() {
            locked.row.touch();
            return Ok(Some(locked));
        }
        self.update(&locked.row);
        Ok(None)
    }
}

/// A session whose row this process has locked.
struct LockedSession<'a, D: SessionDatabase> {
    record: &'a SqlSession<D>,
    transaction: D::Transaction,
    row: SessionRow,
}

impl<D: SessionDatabase> LockedSession<'_, D> {
    /// Writes the row, lets the changes take effect, and updates the copy.
    async fn commit(mut self) -> Result<(), StoreError> {
        self.row
            .write(&mut self.transaction, &self.record.id)
            .await?;
        self.transaction.commit().await?;
        self.record.update(&self.row);
        Ok(())
    }

    /// Adds entries to the audit log.
    async fn log(&mut self, entries: &[AuditEntry]) -> Result<(), StoreError> {
        let id = text(&self.record.id);
        for entry in entries {
            let entry = to_json(entry)?;
            let params = [id, number(self.row.entries), text(&entry)];
            self.transaction.run(ADD_ENTRY, &params).await?;
            self.row.entries += 1;
        }
        let first = self.row.entries.saturating_sub(MAX_ENTRIES);
        if first > 0 && !entries.is_empty() {
            self.transaction
                .run(DROP_ENTRIES, &[id, number(first)])
                .await?;
        }
        Ok(())
    }

    /// Adds an answered call, and drops the oldest ones if all of them take too many bytes.
    async fn keep_call(&mut self, call: &SessionCall) -> Result<(), StoreError> {
        let id = text(&self.record.id);
        let call = to_json(call)?;
        let bytes = call.len() as u64;
        let limit = self.record.call_bytes;
        if bytes > limit {
            return Ok(());
        }
        let params = [id, number(self.row.calls), text(&call), number(bytes)];
        self.transaction.run(ADD_CALL, &params).await?;
        self.row.calls += 1;
        self.row.call_bytes += bytes;

        while self.row.call_bytes > limit {
            let oldest = self.transaction.run(OLDEST_CALLS, &[id]).await?;
            let mut last = None;
            for row in &oldest {
                if self.row.call_bytes <= limit {
                    break;
                }
                self.row.call_bytes = self.row.call_bytes.saturating_sub(unsigned(row, 1)?);
                last = Some(unsigned(row, 0)?);
            }
            let Some(last) = last else {
                // Someone has deleted calls by hand.
                self.row.call_bytes = 0;
                break;
            };
            self.transaction
                .run(DROP_CALLS, &[id, number(last)])
                .await?;
        }
        Ok(())
    }

    /// Ends the session: its calls can no longer be approved, and no grant covers them any more.
    async fn finish(&mut self) -> Result<(), StoreError> {
        self.row.session.end();
        self.row.finish();
        let id = text(&self.record.id);
        self.transaction.run(DROP_APPROVALS, &[id]).await?;
        self.transaction.run(DROP_GRANTS, &[id]).await?;
        Ok(())
    }

    /// Keeps a grant in place of the call with which it was given.
    async fn grant(&mut self, request: &GrantRequest<'_>) -> Result<GrantVerdict, StoreError> {
        let session = text(&self.record.id);
        let now = self.row.now;
        let call = [session, id(request.call), number(now)];
        if self.transaction.run(APPROVAL, &call).await?.is_empty() {
            return Ok(GrantVerdict::NotFound);
        }

        self.transaction
            .run(DROP_ENDED_GRANTS, &[session, number(now)])
            .await?;
        let rows = self.transaction.run(COUNT_GRANTS, &[session]).await?;
        let count = rows.first().map_or(Ok(0), |row| unsigned(row, 0))?;
        if count >= u64::from(request.most) {
            return Ok(GrantVerdict::Full);
        }

        let call = [session, id(request.call)];
        self.transaction.run(TAKE_APPROVAL, &call).await?;
        let granted = to_json(request.grant)?;
        let params = [
            session,
            text(&request.grant.id),
            text(&granted),
            number(now.saturating_add(milliseconds(request.lifetime))),
        ];
        self.transaction.run(ADD_GRANT, &params).await?;
        Ok(GrantVerdict::Granted)
    }

    async fn principal_spending(&mut self) -> Result<PrincipalSpending, StoreError> {
        let now = self.row.now;
        let params = [text(&self.record.principal), number(now)];
        let rows = self.transaction.run(SPENDING, &params).await?;
        let Some(row) = rows.first() else {
            return Ok(PrincipalSpending::default());
        };
        let left = unsigned(row, 2)?.saturating_sub(now);
        Ok(PrincipalSpending {
            spent: Spending {
                cost: Cost::pico(unsigned(row, 0)?),
                time: Duration::from_micros(unsigned(row, 1)?),
            },
            resets_in: Some(Duration::from_millis(left)),
        })
    }
}

/// Notes the id of an amount. Returns false if it is known already.
async fn note_amount(
    transaction: &mut impl SqlTransaction,
    amount: u128,
    now: u64,
) -> Result<bool, StoreError> {
    let amount = format!("{amount:032x}");
    let params = [text(&amount), number(now.saturating_add(KNOWN_AMOUNTS))];
    let noted = transaction.run(NOTE_AMOUNT, &params).await?;
    Ok(!noted.is_empty())
}

/// Adds to what a principal has spent.
async fn charge_principal(
    transaction: &mut impl SqlTransaction,
    principal: &str,
    charge: &PrincipalCharge,
    now: u64,
) -> Result<(), StoreError> {
    let time = u64::try_from(charge.spent.time.as_micros()).unwrap_or(MAX_AMOUNT);
    let params = [
        text(principal),
        number(charge.spent.cost.picodollars().min(MAX_AMOUNT)),
        number(time.min(MAX_AMOUNT)),
        number(now.saturating_add(milliseconds(charge.window))),
        number(now),
        number(MAX_AMOUNT),
    ];
    transaction.run(ADD_SPENDING, &params).await?;
    Ok(())
}

impl<D: SessionDatabase> SessionRecord for SqlSession<D> {
    async fn admit(&self, call: &Admission<'_>) -> Result<Verdict, StoreError> {
        let Some(mut locked) = self.lock_live().await? else {
            return Ok(Verdict::Inactive);
        };
        let principal = match call.caps {
            Some(_) => locked.principal_spending().await?,
            None => PrincipalSpending::default(),
        };
        let verdict = locked.row.session.admit(call, principal);
        locked.commit().await?;
        Ok(verdict)
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), StoreError> {
        let mut transaction = self.database.begin().await?;
        let found = lock_session::<D>(&mut transaction, &self.id).await?;
        let own = found.filter(|row| row.incarnation == self.incarnation_text);
        let now = if let Some(row) = &own {
            row.now
        } else {
            let rows = transaction.run(NOW, &[]).await?;
            rows.first().map_or(Ok(0), |row| unsigned(row, 0))?
        };

        let mut is_new = true;
        if let Some(charge) = settlement.spends() {
            if let Some(amount) = settlement.amount_id {
                is_new = note_amount(&mut transaction, amount, now).await?;
            }
            if is_new {
                charge_principal(&mut transaction, &self.principal, &charge, now).await?;
            }
        }

        let Some(row) = own else {
            transaction.commit().await?;
            self.copy.close();
            return Ok(());
        };
        let mut locked = LockedSession {
            record: self,
            transaction,
            row,
        };
        // A call that outlasts its session changes nothing more, but its entries are logged.
        if locked.row.is_live() {
            locked.row.touch();
            if is_new {
                locked.row.session.settle(settlement);
            } else {
                locked.row.session.settle_again(settlement);
            }
        }
        locked.log(settlement.audit).await?;
        locked.commit().await
    }

    async fn keep_call(&self, record: &AnsweredCallRecord<'_>) -> Result<(), StoreError> {
        let Some(mut locked) = self.lock().await? else {
            return Ok(());
        };
        if locked.row.is_live() {
            locked.row.touch();
        }
        if let Some(call) = record.call {
            locked.keep_call(call).await?;
        }
        locked
            .log(record.audit.map_or(&[], std::slice::from_ref))
            .await?;
        locked.commit().await
    }

    async fn calls(&self) -> Result<Vec<SessionCall>, StoreError> {
        kept_calls(&self.database, &self.id, Some(&self.incarnation_text)).await
    }

    async fn next_turn(&self) -> Result<Turn, StoreError> {
        let Some(mut locked) = self.lock_live().await? else {
            return Ok(Turn {
                number: self.turn(),
                pending_message: None,
                ended: true,
                ended_now: false,
            });
        };
        let turn = locked.row.session.next_turn();
        if turn.ended {
            locked.finish().await?;
        }
        locked.commit().await?;
        Ok(turn)
    }

    async fn mint(&self, request: &ApprovalRequest<'_>) -> Result<ApprovalVerdict, StoreError> {
        let Some(mut locked) = self.lock_live().await? else {
            return Ok(ApprovalVerdict::Inactive);
        };
        let session = text(&self.id);
        let now = locked.row.now;
        let expired = [session, number(now)];
        locked
            .transaction
            .run(DROP_EXPIRED_APPROVALS, &expired)
            .await?;

        let mut waiting = Vec::new();
        for row in &locked.transaction.run(WAITING, &[session]).await? {
            waiting.push(WaitingSize {
                turn: unsigned(row, 0)?,
                bytes: usize::try_from(unsigned(row, 1)?).unwrap_or(usize::MAX),
            });
        }
        if let Some(limit) = request.exceeds_beside(waiting) {
            locked.commit().await?;
            return Ok(ApprovalVerdict::Full(limit));
        }

        let call = to_json(request.call)?;
        let params = [
            session,
            text(&request.call.id),
            text(&call),
            number(request.call.turn),
            number(request.call.size() as u64),
            number(now.saturating_add(milliseconds(request.lifetime))),
            text(&self.principal),
        ];
        locked.transaction.run(ADD_APPROVAL, &params).await?;
        locked.commit().await?;
        Ok(ApprovalVerdict::Waits)
    }

    async fn pending(&self, call: &str) -> Result<Option<PendingCall>, StoreError> {
        let Some(mut locked) = self.lock_live().await? else {
            return Ok(None);
        };
        let params = [text(&self.id), id(call), number(locked.row.now)];
        let rows = locked.transaction.run(APPROVAL, &params).await?;
        locked.commit().await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        from_json(&row.text(0)?).map(Some)
    }

    async fn consume(&self, call: &str) -> Result<bool, StoreError> {
        let Some(mut locked) = self.lock_live().await? else {
            return Ok(false);
        };
        let params = [text(&self.id), id(call)];
        let taken = locked.transaction.run(TAKE_APPROVAL, &params).await?;
        let now = locked.row.now;
        locked.commit().await?;
        match taken.first() {
            Some(row) => Ok(unsigned(row, 0)? > now),
            None => Ok(false),
        }
    }

    async fn grant(&self, request: &GrantRequest<'_>) -> Result<GrantVerdict, StoreError> {
        let Some(mut locked) = self.lock_live().await? else {
            return Ok(GrantVerdict::NotFound);
        };
        let verdict = locked.grant(request).await?;
        locked.commit().await?;
        Ok(verdict)
    }

    async fn grants(&self) -> Result<Vec<CallGrant>, StoreError> {
        let Some(mut locked) = self.lock_live().await? else {
            return Ok(Vec::new());
        };
        let params = [text(&self.id), number(locked.row.now)];
        let rows = locked.transaction.run(GRANTS, &params).await?;
        locked.commit().await?;
        let mut grants = Vec::with_capacity(rows.len());
        for row in &rows {
            grants.extend(readable(&row.text(0)?, "a grant"));
        }
        Ok(grants)
    }

    async fn revoke(&self, grant: &str) -> Result<bool, StoreError> {
        let Some(mut locked) = self.lock_live().await? else {
            return Ok(false);
        };
        let params = [text(&self.id), id(grant)];
        let revoked = locked.transaction.run(REVOKE_GRANT, &params).await?;
        let now = locked.row.now;
        locked.commit().await?;
        match revoked.first() {
            Some(row) => Ok(unsigned(row, 0)? > now),
            None => Ok(false),
        }
    }

    async fn change(&self, changes: &[StateChange]) -> Result<(), StoreError> {
        let Some(mut locked) = self.lock_live().await? else {
            return Ok(());
        };
        locked.row.session.change(changes);
        locked.commit().await
    }

    async fn switch_mode(&self, mode: Mode) -> Result<(), StoreError> {
        let Some(mut locked) = self.lock_live().await? else {
            return Ok(());
        };
        locked.row.session.switch_mode(mode);
        locked.commit().await
    }

    async fn end(&self) -> Result<bool, StoreError> {
        let Some(mut locked) = self.lock_live().await? else {
            return Ok(false);
        };
        locked.finish().await?;
        locked.commit().await?;
        Ok(true)
    }

    async fn refresh(&self) -> Result<(), StoreError> {
        let rows = self.database.select(SESSION, &[text(&self.id)]).await?;
        let found = rows.first().map(SessionRow::read).transpose()?;
        let own = found.filter(|row| row.incarnation == self.incarnation_text);
        if let Some(row) = own {
            self.update(&row);
            Ok(())
        } else {
            self.copy.close();
            Ok(())
        }
    }

    async fn audit(&self) -> Result<Vec<AuditEntry>, StoreError> {
        let params = [text(&self.id), text(&self.incarnation_text)];
        let rows = self.database.select(ENTRIES, &params).await?;
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            // A process of another version may have written what this one does not know.
            entries.extend(readable(&row.text(0)?, "an entry of the audit log"));
        }
        Ok(entries)
    }

    fn incarnation(&self) -> u128 {
        self.incarnation
    }

    fn mode(&self) -> Mode {
        self.copy.mode()
    }

    fn turn(&self) -> u64 {
        self.copy.turn()
    }

    fn state(&self) -> Arc<SessionState> {
        self.copy.state()
    }
}
