//! The service of the second tool: a separate process that continues the trace of its caller.

use axum::extract::Query;
use axum::http::HeaderMap;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tool_adapters::interop::reqwest::extract_trusted;
use tool_core::trace::{self, Cost};

/// A handle to the process.
pub(crate) struct Warehouse {
    process: Child,
    pub(crate) base_url: String,
}

impl Warehouse {
    /// Starts the process, and reads its address.
    pub(crate) fn start() -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("warehouse")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut base_url = String::new();
        let mut said = BufReader::new(process.stdout.take().ok_or("the warehouse has no output")?);
        said.read_line(&mut base_url)?;
        process.stdout = Some(said.into_inner());
        Ok(Self {
            process,
            base_url: base_url.trim().to_owned(),
        })
    }

    /// Ends the process, and returns its report.
    pub(crate) fn end(mut self) -> Result<String, Box<dyn Error>> {
        drop(self.process.stdin.take());
        let mut report = String::new();
        self.process
            .stdout
            .take()
            .ok_or("the warehouse has no output")?
            .read_to_string(&mut report)?;
        self.process.wait()?;
        Ok(report)
    }
}

/// Runs the process: serves until its input ends, and then prints its report.
pub(crate) async fn serve() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    let router = Router::new().route("/stock", get(stock));
    let ended = async {
        let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
    };
    axum::serve(listener, router)
        .with_graceful_shutdown(ended)
        .await?;
    println!("{}", trace::report());
    Ok(())
}

async fn stock(headers: HeaderMap, Query(query): Query<HashMap<String, String>>) -> Json<Value> {
    // The caller is trusted, as the server is local.
    let context = extract_trusted(&headers);
    let look_up = async {
        trace::record_cost("shelf scan", Cost::micros(150));
        Json(json!({"product": query.get("product"), "in_stock": 12}))
    };
    trace::import(context, trace::agent("warehouse", look_up)).await
}
