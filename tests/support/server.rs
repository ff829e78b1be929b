//! A small HTTP server on loopback, with or without TLS, that answers as a function says.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A request.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn query(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn json(body: &serde_json::Value) -> Self {
        Self::new(200, body.to_string()).with("content-type", "application/json")
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

type Handler = dyn Fn(&Asked) -> Answer + Send + Sync;

/// A server that runs until the test's process ends.
pub(crate) struct Server {
    pub(crate) url: String,
    /// The certificate that signs its own, as PEM; empty without TLS.
    pub(crate) certificate: String,
}

impl Server {
    /// A server without TLS.
    pub(crate) fn plain(handler: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let url = serve(Arc::new(handler), None);
        Self { url: format!("http://{url}"), certificate: String::new() }
    }

    /// A server with a certificate that it signed itself.
    pub(crate) fn tls(handler: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![certified.cert.der().clone()], key).unwrap();
        let url = serve(Arc::new(handler), Some(Arc::new(config)));
        Self { url: format!("https://{url}"), certificate: certified.cert.pem() }
    }
}

fn serve(handler: Arc<Handler>, tls: Option<Arc<ServerConfig>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (handler, tls) = (Arc::clone(&handler), tls.clone());
            thread::spawn(move || match tls {
                None => converse(stream, &*handler),
                Some(config) => {
                    let connection = ServerConnection::new(config).unwrap();
                    converse(StreamOwned::new(connection, stream), &*handler);
                }
            });
        }
    });
    address
}

/// Answers requests until the other side goes away.
fn converse(stream: impl Read + Write, handler: &Handler) {
    let mut stream = BufReader::new(stream);
    while let Some(asked) = read(&mut stream) {
        let answer = handler(&asked);
        let out = stream.get_mut();
        let mut head = format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\n", answer.status, answer.body.len());
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let body: &[u8] = if asked.method == "HEAD" { b"" } else { &answer.body };
        if out.write_all(head.as_bytes()).and_then(|()| out.write_all(body)).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn read(stream: &mut impl BufRead) -> Option<Asked> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|length| *length > 0)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => drop(headers.insert(name.to_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = headers.get("content-length").and_then(|length: &String| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let query = query.split('&').filter(|part| !part.is_empty()).map(|part| part.split_once('=').unwrap_or((part, "")));
    let query = query.map(|(name, value)| (decoded(name), decoded(value))).collect();
    Some(Asked { method, path: decoded(path), query, headers, body })
}

fn decoded(text: &str) -> String {
    let (bytes, mut out, mut index) = (text.as_bytes(), Vec::new(), 0);
    while let Some(&byte) = bytes.get(index) {
        match (byte, text.get(index + 1..index + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                index += 3;
            }
            _ => {
                out.push(byte);
                index += 1;
            }
        }
    }
    String::from_utf8(out).unwrap()
}

/// A connection for a server that never answers.
pub(crate) fn silent() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    (format!("http://{}", listener.local_addr().unwrap()), listener)
}
