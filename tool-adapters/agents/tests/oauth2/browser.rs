//! A browser, and the person before it: follows redirects, keeps cookies, fills in the forms of a login.

use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Client, Response, Url, redirect};

pub(crate) struct Browser {
    client: Client,
    /// Name, value, path.
    cookies: Vec<(String, String, String)>,
}

impl Browser {
    pub(crate) fn new() -> Self {
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .build()
            .expect("a client");
        Self {
            client,
            cookies: Vec::new(),
        }
    }

    /// Signs in and agrees; the URL that the provider then sends the browser to.
    pub(crate) async fn agree(&mut self, url: &str) -> String {
        self.walk(url, true).await
    }

    /// Presses "Cancel" instead.
    pub(crate) async fn cancel(&mut self, url: &str) -> String {
        self.walk(url, false).await
    }

    async fn walk(&mut self, url: &str, agrees: bool) -> String {
        let mut at = Url::parse(url).expect("a URL");
        let origin = at.origin();
        let mut response = self.get(&at).await;
        for _ in 0..20 {
            if response.status().is_redirection() {
                let to = response.headers()[LOCATION].to_str().expect("text");
                at = at.join(to).expect("a URL");
                if at.origin() != origin {
                    return at.into();
                }
                response = self.get(&at).await;
                continue;
            }
            let status = response.status();
            let page = response.text().await.expect("a page");
            assert!(status.is_success(), "{status}: {page}");
            let (form, cancel) = (
                between(&page, "action=\"", "\""),
                between(&page, "<a href=\"", "\""),
            );
            if !agrees {
                at = at.join(&cancel.expect("a way out")).expect("a URL");
                response = self.get(&at).await;
                continue;
            }
            at = at
                .join(&form.unwrap_or_else(|| panic!("no form: {page}")))
                .expect("a URL");
            let prompt = between(&page, "name=\"prompt\" value=\"", "\"").expect("a prompt");
            let fields = format!("prompt={prompt}&login=person&password=anything");
            let request = self.client.post(at.clone()).body(fields);
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            response = self.sent(request, &at).await;
        }
        panic!("the provider does not get done");
    }

    async fn get(&mut self, url: &Url) -> Response {
        let request = self.client.get(url.clone());
        self.sent(request, url).await
    }

    async fn sent(&mut self, request: reqwest::RequestBuilder, url: &Url) -> Response {
        let mine = self
            .cookies
            .iter()
            .filter(|(_, _, path)| url.path().starts_with(path.as_str()));
        let mine = mine
            .map(|(name, value, _)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join("; ");
        let response = request.header(COOKIE, mine).send().await.expect("answers");
        for cookie in response.headers().get_all(SET_COOKIE) {
            let cookie = cookie.to_str().expect("text");
            let (name, rest) = cookie.split_once('=').expect("a cookie");
            let path = between(cookie, "path=", ";").unwrap_or_else(|| "/".into());
            let value = rest.split(';').next().unwrap_or_default();
            self.cookies
                .retain(|(known, _, at)| (known, at) != (&name.to_owned(), &path));
            self.cookies.push((name.to_owned(), value.to_owned(), path));
        }
        response
    }
}

fn between(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found.to_owned())
}
