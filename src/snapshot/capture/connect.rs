//! Which server is captured, and with what credentials.
//!
//! Takes what the command line says; hands on a client.

use std::path::PathBuf;
use std::sync::Once;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

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

/// Chooses the one of both cryptography libraries in the program that TLS uses. Without a choice the first connection would panic.
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
