//! An authorization server in this process, which keeps the requests that it gets.

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

const EC: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsJzQyX/drWEV7KIg/2MqQjOzj1RYxd4z3swUDeiURcuhRANCAASL5AqojZlIAaN5aGiZw4OTecCuLJQIVDq8lA8XYgujupbFWSJOr/CRxCppB8jHjLjFwQTMgWeSBfaVhx1xR+sg";

/// A key that signs tokens.
#[derive(Clone)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) algorithm: Algorithm,
    pub(crate) private: EncodingKey,
}

impl Key {
    /// A key of Ed25519, by its seed.
    pub(crate) fn ed(id: &str, seed: u8) -> Self {
        let mut der = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".to_vec();
        der.extend([seed; 32]);
        Self {
            id: id.to_owned(),
            algorithm: Algorithm::EdDSA,
            private: EncodingKey::from_ed_der(&der),
        }
    }

    pub(crate) fn ec() -> Self {
        let der = STANDARD.decode(EC).expect("a key");
        Self {
            id: "ec".to_owned(),
            algorithm: Algorithm::ES256,
            private: EncodingKey::from_ec_der(&der),
        }
    }

    pub(crate) fn rsa(algorithm: Algorithm) -> Self {
        let der = STANDARD
            .decode(include_str!("rsa.txt").replace('\n', ""))
            .expect("a key");
        Self {
            id: "rsa".to_owned(),
            algorithm,
            private: EncodingKey::from_rsa_der(&der),
        }
    }

    pub(crate) fn public(&self) -> Value {
        let mut jwk = serde_json::to_value(
            Jwk::from_encoding_key(&self.private, self.algorithm).expect("a key"),
        )
        .expect("JSON");
        let members = jwk.as_object_mut().expect("an object");
        members.insert("kid".to_owned(), json!(self.id));
        members.insert("use".to_owned(), json!("sig"));
        members.remove("alg");
        jwk
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.id.clone());
        encode(&header, claims, &self.private).expect("a token")
    }
}

pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time")
        .as_secs()
}

/// A request that was kept: its path and query, and its body.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) target: String,
    pub(crate) body: String,
}

#[derive(Default)]
pub(crate) struct Behaviour {
    /// Members that replace those of the metadata. Null removes one.
    pub(crate) metadata: Value,
    /// Parameters that replace those of the callback. An empty one is left out.
    pub(crate) callback: HashMap<String, String>,
    /// The seconds for which tokens are good. Defaults to an hour.
    pub(crate) lifetime: Option<u64>,
    pub(crate) refuses_refresh: bool,
    /// The answer to each request for tokens, in place of tokens.
    pub(crate) token_fault: Option<(StatusCode, &'static str)>,
    pub(crate) is_down: bool,
    /// The refresh token of each answer, in place of a new one.
    pub(crate) refresh_token: Option<&'static str>,
    /// Further members of the answers to registrations.
    pub(crate) registration: Value,
    /// The place for which each introspection waits, if there is one.
    pub(crate) introspecting: Option<Arc<Semaphore>>,
    /// The scopes that are granted in place of those that are asked for.
    pub(crate) grants: Option<String>,
    pub(crate) keys: Vec<Value>,
    pub(crate) requests: Vec<Kept>,
    codes: HashMap<String, (String, String)>,
    issued: u64,
}

#[derive(Clone)]
pub(crate) struct Issuer {
    pub(crate) url: String,
    pub(crate) key: Key,
    pub(crate) behaviour: Arc<Mutex<Behaviour>>,
}

impl Issuer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let key = Key::ed("ed", 7);
        let behaviour = Behaviour {
            keys: vec![key.public()],
            ..Behaviour::default()
        };
        let issuer = Self {
            url,
            key,
            behaviour: Arc::new(Mutex::new(behaviour)),
        };
        let serving = issuer.clone();
        let app = Router::new().fallback(move |request: Request| {
            let issuer = serving.clone();
            async move { issuer.answer(request).await }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        issuer
    }

    pub(crate) fn behaviour(&self) -> MutexGuard<'_, Behaviour> {
        self.behaviour
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the kept requests to a path.
    pub(crate) fn requests(&self, path: &str) -> Vec<Kept> {
        let is_at = |kept: &&Kept| kept.target.split('?').next() == Some(path);
        self.behaviour()
            .requests
            .iter()
            .filter(is_at)
            .cloned()
            .collect()
    }

    /// Returns the claims of a sound token for a resource.
    pub(crate) fn claims(&self, resource: &str) -> Value {
        json!({"iss": self.url, "sub": "alice", "aud": resource, "exp": now() + 3600, "scope": "read"})
    }

    pub(crate) fn token(&self, resource: &str) -> String {
        self.key.sign(&self.claims(resource))
    }

    async fn answer(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, 1 << 20).await.expect("a body");
        let (target, body) = (
            parts.uri.to_string(),
            String::from_utf8(body.to_vec()).expect("text"),
        );
        let kept = Kept {
            target: target.clone(),
            body: body.clone(),
        };
        self.behaviour().requests.push(kept);
        let places = self.behaviour().introspecting.clone();
        if let Some(places) = places.filter(|_| parts.uri.path() == "/introspect") {
            places.acquire().await.expect("it is open").forget();
        }
        let mut behaviour = self.behaviour();
        if behaviour.is_down {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
        match parts.uri.path() {
            "/.well-known/oauth-authorization-server" => {
                json_answer(StatusCode::OK, &self.metadata(&behaviour))
            }
            "/jwks" => json_answer(StatusCode::OK, &json!({"keys": behaviour.keys})),
            "/register" => {
                let asked = serde_json::from_str::<Value>(&body).expect("JSON");
                let id = format!("client-{}", behaviour.requests.len());
                let mut answer = json!({"client_id": id, "redirect_uris": asked["redirect_uris"]});
                for (name, value) in behaviour.registration.as_object().into_iter().flatten() {
                    answer[name] = value.clone();
                }
                json_answer(StatusCode::CREATED, &answer)
            }
            "/authorize" => self.authorize(&mut behaviour, parts.uri.query().unwrap_or_default()),
            "/token" => self.exchange(&mut behaviour, &form(&body)),
            "/introspect" => {
                let (token, is_client) = (
                    form(&body)["token"].clone(),
                    parts.headers.contains_key("authorization"),
                );
                let active = token == "opaque-token" && is_client;
                let mut answer = json!({"active": active});
                if active {
                    let aud = behaviour.metadata["introspected_audience"].clone();
                    answer = json!({"active": true, "sub": "alice", "scope": "read", "aud": aud, "exp": now() + 60});
                }
                json_answer(StatusCode::OK, &answer)
            }
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    }

    fn metadata(&self, behaviour: &Behaviour) -> Value {
        let at = |path: &str| format!("{}/{path}", self.url);
        let mut metadata = json!({
            "issuer": self.url,
            "authorization_endpoint": at("authorize"),
            "token_endpoint": at("token"),
            "registration_endpoint": at("register"),
            "introspection_endpoint": at("introspect"),
            "jwks_uri": at("jwks"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        });
        for (name, value) in behaviour.metadata.as_object().into_iter().flatten() {
            match value {
                Value::Null => _ = metadata.as_object_mut().expect("an object").remove(name),
                value => metadata[name] = value.clone(),
            }
        }
        metadata
    }

    fn authorize(&self, behaviour: &mut Behaviour, query: &str) -> Response {
        let asked = form(query);
        let code = format!("code-canary-{}", behaviour.requests.len());
        let scope = asked.get("scope").cloned().unwrap_or_default();
        assert_eq!(asked["code_challenge_method"], "S256");
        behaviour
            .codes
            .insert(code.clone(), (asked["code_challenge"].clone(), scope));
        let mut callback = HashMap::from([
            ("code".to_owned(), code),
            ("state".to_owned(), asked["state"].clone()),
            ("iss".to_owned(), self.url.clone()),
        ]);
        callback.extend(behaviour.callback.clone());
        callback.retain(|_, value| !value.is_empty());
        let mut to = reqwest::Url::parse(&asked["redirect_uri"]).expect("a URL");
        to.query_pairs_mut().extend_pairs(callback);
        (StatusCode::FOUND, [(header::LOCATION, to.to_string())]).into_response()
    }

    fn exchange(&self, behaviour: &mut Behaviour, asked: &HashMap<String, String>) -> Response {
        if let Some(fault) = behaviour.token_fault {
            return fault.into_response();
        }
        let refused = |error: &str| json_answer(StatusCode::BAD_REQUEST, &json!({"error": error}));
        let scope = match asked["grant_type"].as_str() {
            "authorization_code" => {
                let Some((challenge, scope)) = behaviour.codes.remove(&asked["code"]) else {
                    return refused("invalid_grant");
                };
                let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&asked["code_verifier"]));
                if digest != challenge {
                    return refused("invalid_grant");
                }
                scope
            }
            "refresh_token" if behaviour.refuses_refresh => return refused("invalid_grant"),
            _ => asked
                .get("scope")
                .cloned()
                .unwrap_or_else(|| "read".to_owned()),
        };
        let scope = behaviour.grants.clone().unwrap_or(scope);
        behaviour.issued += 1;
        let mut claims = self.claims(&asked["resource"]);
        claims["scope"] = json!(scope);
        claims["jti"] = json!(behaviour.issued);
        let lifetime = behaviour.lifetime.unwrap_or(3600);
        let refresh = match behaviour.refresh_token {
            Some(refresh) => refresh.to_owned(),
            None => format!("refresh-canary-{}", behaviour.issued),
        };
        let answer = json!({
            "access_token": self.key.sign(&claims), "token_type": "Bearer", "expires_in": lifetime, "scope": scope,
            "refresh_token": refresh,
        });
        json_answer(StatusCode::OK, &answer)
    }
}

pub(crate) fn form(text: &str) -> HashMap<String, String> {
    let url = reqwest::Url::parse(&format!("http://form/?{text}")).expect("a form");
    url.query_pairs().into_owned().collect()
}

pub(crate) fn json_answer(status: StatusCode, value: &Value) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "application/json")],
        value.to_string(),
    )
        .into_response()
}
