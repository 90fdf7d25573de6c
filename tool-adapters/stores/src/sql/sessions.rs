//! Sessions in an SQL database. Each operation locks the session's row, decides, writes the row and
//! commits, so that a process which dies leaves nothing half done. Times are those of the
//! database's clock.

use crate::kept_values::readable;
use crate::random::random_number;
use crate::sql::forgetting::begin_to_forget;
use crate::sql::permits;
use crate::sql::session_record::SqlSession;
use crate::sql::session_row::{SessionDatabase, SessionRow, kept_calls, lock_session};
use crate::sql::values::{stored_id, text, unsigned};
use crate::sql::{SqlRow, SqlStore, SqlTransaction, id as sql_id, number};
use std::sync::Arc;
use tool_core::SessionId;
use tool_core::session::{
    ApprovalPage, ApprovalPlace, OpenError, OpenRequest, PermitRequest, PermitVerdict, SessionCall,
    SessionStore, StoreError,
};

const DELETE: &str = "DELETE FROM tool_sessions WHERE id = $1";

const OPEN_SESSIONS: &str =
    "SELECT count(*) FROM tool_sessions WHERE expires_at > (SELECT now FROM tool_session_clock)";

const APPROVALS_OF: &str = include_str!("principal_approvals.sql");

#[allow(private_bounds)] // only this crate implements the trait
impl<D: SessionDatabase> SqlStore<D> {
    /// Joins the session that is open under an id. Returns `None` if none is.
    async fn join(
        &self,
        transaction: &mut D::Transaction,
        request: &OpenRequest,
        id: &str,
    ) -> Result<Option<SessionRow>, OpenError> {
        let found = lock_session::<D>(transaction, id).await?;
        let Some(mut row) = found.filter(SessionRow::is_live) else {
            return Ok(None);
        };
        row.session.check_owner(request)?;
        row.touch();
        row.write(transaction, id).await?;
        Ok(Some(row))
    }

    /// Opens a new session, if there is room for one.
    async fn open_new(
        &self,
        transaction: &mut D::Transaction,
        request: &OpenRequest,
        id: &str,
    ) -> Result<SessionRow, OpenError> {
        let rows = transaction
            .run(OPEN_SESSIONS, &[])
            .await
            .map_err(StoreError::from)?;
        let open = rows.first().map_or(Ok(0), |row| unsigned(row, 0))?;
        if open >= request.max_sessions {
            return Err(OpenError::Full {
                limit: request.max_sessions,
            });
        }
        insert::<D>(transaction, request, id)
            .await
            .map_err(OpenError::from)
    }

    /// Wraps a session that the database has, as this process knows it.
    fn record(&self, request: &OpenRequest, row: &SessionRow) -> Arc<SqlSession<D>> {
        let record = SqlSession::new(self.0.clone(), request, row.session.incarnation());
        record.update(row);
        Arc::new(record)
    }
}

/// Replaces what is left of an earlier session of the id by a new session.
async fn insert<D: SessionDatabase>(
    transaction: &mut D::Transaction,
    request: &OpenRequest,
    id: &str,
) -> Result<SessionRow, StoreError> {
    let now = transaction
        .run("SELECT now FROM tool_session_clock", &[])
        .await?;
    let now = now.first().map_or(Ok(0), |row| unsigned(row, 0))?;
    transaction.run(DELETE, &[text(id)]).await?;

    let row = SessionRow::new(request, random_number()?, now);
    row.insert(transaction, id).await?;
    Ok(row)
}

impl<D: SessionDatabase> SessionStore for SqlStore<D> {
    type Record = SqlSession<D>;

    async fn open(&self, request: &OpenRequest) -> Result<Arc<SqlSession<D>>, OpenError> {
        let id = stored_id(request.id.as_str());
        let mut transaction = self.0.begin().await.map_err(StoreError::from)?;
        if let Some(row) = self.join(&mut transaction, request, &id).await? {
            transaction.commit().await.map_err(StoreError::from)?;
            return Ok(self.record(request, &row));
        }
        // Without a lock of its row: who opens a session locks all openings first.
        if let Some(lock) = D::LOCK_OPENINGS {
            drop(transaction);
            transaction = self.0.begin().await.map_err(StoreError::from)?;
            transaction.run(lock, &[]).await.map_err(StoreError::from)?;
        }
        let row = match self.join(&mut transaction, request, &id).await? {
            Some(row) => row,
            None => self.open_new(&mut transaction, request, &id).await?,
        };
        transaction.commit().await.map_err(StoreError::from)?;
        begin_to_forget(&self.0);
        Ok(self.record(request, &row))
    }

    async fn sessions(&self) -> Result<u64, StoreError> {
        let rows = self.0.select(OPEN_SESSIONS, &[]).await?;
        rows.first().map_or(Ok(0), |row| unsigned(row, 0))
    }

    async fn calls(&self, id: &SessionId) -> Result<Vec<SessionCall>, StoreError> {
        kept_calls(&self.0, &stored_id(id.as_str()), None).await
    }

    async fn approvals_of(
        &self,
        principal: &str,
        after: Option<&ApprovalPlace>,
        limit: u32,
    ) -> Result<ApprovalPage, StoreError> {
        let principal = stored_id(principal);
        let first = after.map_or(0, |place| place.expires_at);
        let params = [
            text(&principal),
            number(first),
            sql_id(after.map_or("", |place| &place.id)),
            number(u64::from(limit)),
        ];
        let rows = self.0.select(APPROVALS_OF, &params).await?;
        let mut calls = Vec::with_capacity(rows.len());
        for row in &rows {
            calls.extend(readable(&row.text(0)?, "a call that waits for approval"));
        }
        let last = rows
            .last()
            .filter(|_| rows.len() as u64 >= u64::from(limit));
        let next = match last {
            Some(row) => Some(ApprovalPlace::new(unsigned(row, 1)?, row.text(2)?)),
            None => None,
        };
        Ok(ApprovalPage::new(calls, next))
    }

    async fn acquire_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> Result<PermitVerdict, StoreError> {
        permits::acquire(&self.0, request).await
    }

    async fn extend_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        permits::extend(&self.0, request).await
    }

    async fn release_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        permits::release(&self.0, request).await
    }
}
