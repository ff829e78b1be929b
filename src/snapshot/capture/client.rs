//! HTTP to an API server: one request at a time, politely, again where the server asks for patience.
//!
//! Takes paths; hands on [`Reply`]s. Everything of the `kube` client stays behind this file and [`super::connect`].

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, RETRY_AFTER};
use http::{Request, Uri};
use kube::client::Body;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::error::CaptureError;

/// What plain requests ask for.
pub(super) const JSON: &str = "application/json";
/// The longest that one answer may take.
const ANSWER: Duration = Duration::from_secs(120);
/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How much is asked of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests at the same time.
    pub parallel: usize,
    /// Requests a second.
    pub per_second: u32,
    /// Objects a page.
    pub page: usize,
    /// How often one request is tried.
    pub attempts: u32,
    /// Wait before the second try; it doubles with each further one.
    pub first_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { parallel: 6, per_second: 40, page: 500, attempts: 6, first_wait: Duration::from_millis(250) }
    }
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// A server that is asked politely.
#[derive(Clone)]
pub(super) struct Client {
    inner: kube::Client,
    server: Arc<str>,
    limits: Limits,
    places: Arc<Semaphore>,
    /// When the next request may start. A server that asks one request to wait makes all of them wait.
    next: Arc<Mutex<Instant>>,
}

impl Client {
    /// A client for the server of a configuration.
    pub(super) fn new(mut config: kube::Config, limits: Limits) -> Result<Self, CaptureError> {
        let server: Arc<str> = config.cluster_url.to_string().trim_end_matches('/').into();
        // Tries are counted here, where a wait holds for all requests.
        config.default_retry = false;
        let inner = kube::Client::try_from(config).map_err(|error| CaptureError::connect(&server, &error))?;
        let places = Arc::new(Semaphore::new(limits.parallel.max(1)));
        Ok(Self { inner, server, limits, places, next: Arc::new(Mutex::new(Instant::now())) })
    }

    /// The server's URL.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// How much is asked.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Gets a path, however often it takes. Any status but those that ask for patience is an answer.
    ///
    /// # Errors
    /// Where the server cannot be reached, or still asks for patience at the last try.
    pub(super) async fn get(&self, path: &str, accept: &str) -> Result<Reply, CaptureError> {
        let mut wait = self.limits.first_wait;
        let mut tries = 1;
        loop {
            let last = tries >= self.limits.attempts.max(1);
            let (asked, why) = match self.once(path, accept).await {
                Ok((reply, asked)) if !asks_for_patience(reply.status) || last => {
                    let _ = asked;
                    return Ok(reply);
                }
                Ok((_, asked)) => (asked, None),
                Err(error) => (None, Some(error)),
            };
            match why {
                Some(error) if last => return Err(error),
                _ => {}
            }
            let pause = asked.unwrap_or(wait).min(LONGEST_WAIT);
            if asked.is_some() {
                let mut next = self.next.lock().await;
                *next = (*next).max(Instant::now() + pause);
            } else {
                sleep(pause).await;
            }
            wait = (wait * 2).min(LONGEST_WAIT);
            tries += 1;
        }
    }

    /// One try, with the wait that the answer asks for.
    async fn once(&self, path: &str, accept: &str) -> Result<(Reply, Option<Duration>), CaptureError> {
        let failed = |why: String| CaptureError::Request { server: self.server.to_string(), path: shown(path), why };
        let _place = self.places.acquire().await.map_err(|error| failed(error.to_string()))?;
        self.turn().await;
        let uri: Uri = path.parse().map_err(|_| failed("this is no path of a URL".to_owned()))?;
        let request = Request::get(uri).header(ACCEPT, accept).body(Body::empty()).map_err(|error| failed(error.to_string()))?;
        let answer = async {
            let response = self.inner.send(request).await.map_err(|error| failed(causes(&error)))?;
            let status = response.status().as_u16();
            let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let asked = header.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
            let body = response.into_body().collect_bytes().await.map_err(|error| failed(causes(&error)))?;
            Ok((Reply { status, body: body.into() }, asked))
        };
        timeout(ANSWER, answer).await.map_err(|_| failed(format!("no answer within {} seconds", ANSWER.as_secs())))?
    }

    /// Waits until the next request may start.
    async fn turn(&self) {
        let step = Duration::from_secs(1) / self.limits.per_second.max(1);
        let start = {
            let mut next = self.next.lock().await;
            let start = (*next).max(Instant::now());
            *next = start + step;
            start
        };
        sleep_until(start).await;
    }
}

fn asks_for_patience(status: u16) -> bool {
    matches!(status, 429 | 500 | 502 | 503 | 504)
}

/// A path without its query, whose tokens say nothing to people.
fn shown(path: &str) -> String {
    path.split('?').next().unwrap_or_default().to_owned()
}

/// An error with what it was caused by, each said once.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = cause.source();
    }
    text
}

/// A value as it stands in the query of a URL.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_queries_are_encoded() {
        assert_eq!(encoded("eyJ2+/=&a b"), "eyJ2%2B%2F%3D%26a%20b");
    }

    #[test]
    fn messages_name_a_path_without_its_tokens() {
        assert_eq!(shown("/api/v1/pods?limit=500&continue=abc"), "/api/v1/pods");
    }
}
