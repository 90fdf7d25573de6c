//! The server of Restate, from npm, on free ports of the loopback address.

use crate::engine::Failure;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The package of npm. Its binary needs no Node.
const PACKAGE: &str = "@restatedev/restate-server@1.7.12";
/// The environment variable with the path of a server that is there already.
const PROGRAM: &str = "RESTATE_SERVER";

/// A running server. It ends when it is dropped.
pub(crate) struct RestateServer {
    process: Child,
    /// The address that takes calls.
    pub(crate) ingress: String,
    /// The address that takes workers.
    admin: String,
    client: reqwest::Client,
}

impl RestateServer {
    /// Returns the path of the server's program: that of the environment variable, that of npm, or after an installation
    /// with npm, if that may be.
    pub(crate) fn program(may_install: bool) -> Result<PathBuf, Failure> {
        if let Some(given) = std::env::var_os(PROGRAM) {
            return Ok(given.into());
        }
        let folder = npm_folder();
        if let Some(found) = installed(&folder) {
            return Ok(found);
        }
        if !may_install {
            return Err(format!("no server in {}", folder.display()).into());
        }
        println!("installing {PACKAGE} with npm into {}", folder.display());
        std::fs::create_dir_all(&folder)?;
        let npm = Command::new("npm")
            .arg("install")
            .arg("--prefix")
            .arg(&folder)
            .args(["--silent", "--no-audit", "--no-fund", "--no-package-lock"])
            .args(["--ignore-scripts", PACKAGE])
            .status();
        let missing = || {
            format!(
                "this example needs the server of Restate: install npm, or name the server's program in {PROGRAM}"
            )
        };
        match npm {
            Ok(status) if status.success() => installed(&folder).ok_or_else(|| missing().into()),
            Ok(status) => Err(format!("npm ended with {status}: {}", missing()).into()),
            Err(error) => Err(format!("npm cannot be run ({error}): {}", missing()).into()),
        }
    }

    /// Starts the server with its data in a folder, and waits until it is healthy.
    pub(crate) async fn start(program: &Path, folder: &Path) -> Result<Self, Failure> {
        let ingress = free_address()?;
        let admin = free_address()?;
        let node = free_address()?;
        let log = std::fs::File::create(folder.join("restate.log"))?;
        let process = Command::new(program)
            .args(["--listen-mode", "tcp", "--bind-address", &node])
            .args(["--advertised-address", &format!("http://{node}/")])
            .arg("--base-dir")
            .arg(folder.join("restate"))
            .args(["--default-num-partitions", "1", "--no-logo"])
            .args(["--log-filter", "warn", "--log-disable-ansi-codes", "true"])
            .env("RESTATE_INGRESS__BIND_ADDRESS", &ingress)
            .env("RESTATE_ADMIN__BIND_ADDRESS", &admin)
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("{} cannot be run: {error}", program.display()))?;
        let server = Self {
            process,
            ingress: format!("http://{ingress}"),
            admin: format!("http://{admin}"),
            client: reqwest::Client::builder().no_proxy().build()?,
        };
        server.wait_for("/health").await?;
        Ok(server)
    }

    async fn wait_for(&self, path: &str) -> Result<(), Failure> {
        let until = Instant::now() + Duration::from_secs(90);
        let url = format!("{}{path}", self.admin);
        while Instant::now() < until {
            let response = self.client.get(&url).send().await;
            if response.is_ok_and(|response| response.status().is_success()) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err("the server of Restate was not healthy within a minute".into())
    }

    /// Tells the server where its worker is. The worker must be serving.
    pub(crate) async fn register(&self, worker: &str) -> Result<(), Failure> {
        let url = format!("{}/deployments", self.admin);
        let body = serde_json::json!({"uri": format!("http://{worker}/"), "force": true});
        let response = self.client.post(url).json(&body).send().await?;
        if !response.status().is_success() {
            return Err(response.text().await?.into());
        }
        Ok(())
    }

    /// Sends a message to a conversation. The future returns the reply, which may take days.
    pub(crate) fn message(
        &self,
        conversation: &str,
        text: &str,
    ) -> impl Future<Output = Result<serde_json::Value, Failure>> + use<> {
        let url = format!("{}/DurableAgent/{conversation}/message", self.ingress);
        let request = self.client.post(url).json(text);
        async move {
            let response = request.send().await?;
            let status = response.status();
            let body = response.text().await?;
            if !status.is_success() {
                return Err(format!("{status}: {body}").into());
            }
            Ok(serde_json::from_str(&body)?)
        }
    }
}

impl Drop for RestateServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns an address of the loopback interface on which nobody listens.
pub(crate) fn free_address() -> Result<String, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.to_string())
}

/// Returns the folder of the build into which npm installs the server.
fn npm_folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = package.ancestors();
    let root = folders.find(|folder| folder.join("Cargo.lock").exists());
    root.unwrap_or(package).join("target/conformance/restate")
}

/// Returns the program in a folder of npm, which has one package for each platform.
fn installed(folder: &Path) -> Option<PathBuf> {
    let packages = std::fs::read_dir(folder.join("node_modules/@restatedev")).ok()?;
    let programs = packages
        .flatten()
        .map(|package| package.path().join("bin/restate-server"));
    programs.into_iter().find(|program| program.exists())
}
