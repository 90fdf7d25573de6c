//! AWS credentials, and the signatures that are made with them.

mod credentials;
mod region;
mod signature;

pub(crate) use crate::http::aws::credentials::{CredentialsCache, CredentialsSource};
pub(crate) use crate::http::aws::region::region_of_host;
pub(crate) use crate::http::aws::signature::{RequestSigner, escape_path, explain_refusal};
