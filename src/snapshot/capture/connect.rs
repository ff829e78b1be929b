//! Which server is captured, and with what credentials.
//!
//! Takes what the command line says; hands on a client.

use std::path::{Path, PathBuf};
use std::sync::Once;

use http::Uri;
use kube::Config;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::client::{Client, Limits, causes};
use super::error::CaptureError;

/// A Kubernetes API server, as kubectl is told of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubernetesServer {
    /// A kubeconfig file; `None` takes `KUBECONFIG`, the one in the home folder, or the pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// A context of it; `None` takes the current one.
    pub context: Option<String>,
}

/// An Argo CD API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgocdServer {
    /// URL, with the root path where Argo CD runs under one.
    pub url: String,
    /// A read-only token.
    pub token: String,
    /// A PEM file of the certificates that sign the server's own.
    pub ca_file: Option<PathBuf>,
}

/// Chooses the cryptography that TLS uses. Without a choice the first connection to a store would panic.
pub fn choose_cryptography() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that somebody has chosen before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

impl KubernetesServer {
    /// A client for the server.
    pub(super) async fn client(&self, limits: Limits) -> Result<Client, CaptureError> {
        choose_cryptography();
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let wrong = |why: String| CaptureError::Config { why };
        let config = match &self.kubeconfig {
            Some(file) => {
                let kubeconfig = Kubeconfig::read_from(file).map_err(|error| wrong(causes(&error)))?;
                Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| wrong(causes(&error)))?
            }
            None => match Config::from_kubeconfig(&options).await {
                Ok(config) => config,
                Err(error) if self.context.is_some() => return Err(wrong(causes(&error))),
                Err(error) => Config::incluster().map_err(|in_pod| wrong(format!("{}; {}", causes(&error), causes(&in_pod))))?,
            },
        };
        Client::new(config, limits)
    }
}

impl ArgocdServer {
    /// A client for the server.
    pub(super) fn client(&self, limits: Limits) -> Result<Client, CaptureError> {
        choose_cryptography();
        let url = if self.url.contains("://") { self.url.clone() } else { format!("https://{}", self.url) };
        let wrong = |why: &str| CaptureError::Connect { server: self.url.clone(), why: why.to_owned() };
        let uri: Uri = url.trim_end_matches('/').parse().map_err(|_| wrong("this is no URL"))?;
        if uri.scheme_str() != Some("https") && !is_loopback(uri.host().unwrap_or_default()) {
            return Err(wrong("a token is only sent over https"));
        }
        let mut config = Config::new(uri);
        config.root_cert = self.ca_file.as_deref().map(certificates).transpose()?;
        // The type of the field comes with the client, so it is filled as a kubeconfig would.
        let auth: Result<AuthInfo, _> = serde_json::from_value(serde_json::json!({ "token": self.token }));
        config.auth_info = auth.map_err(|_| wrong("the token cannot be used"))?;
        Client::new(config, limits)
    }
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

/// The certificates of a PEM file.
fn certificates(file: &Path) -> Result<Vec<Vec<u8>>, CaptureError> {
    let failed = |why: String| CaptureError::File { path: file.display().to_string(), why };
    let pem = std::fs::read(file).map_err(|error| failed(error.to_string()))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).map(|one| one.map(|one| one.to_vec())).collect();
    let found = found.map_err(|_| failed("this is no PEM file".to_owned()))?;
    if found.is_empty() { Err(failed("there is no certificate in it".to_owned())) } else { Ok(found) }
}
