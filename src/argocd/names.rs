//! Every annotation, label, finalizer and group name of Argo CD and Helm that presync knows.

/// API group of Argo CD's own kinds.
pub const GROUP: &str = "argoproj.io";
/// Annotation: who tracks an object.
pub const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";
/// Annotation: which Argo CD installation tracks an object.
pub const INSTALLATION_ID: &str = "argocd.argoproj.io/installation-id";
/// Annotation: options for the sync of one object.
pub const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";
/// Annotation: options for the comparison of one object.
pub const COMPARE_OPTIONS: &str = "argocd.argoproj.io/compare-options";
/// Annotation: the wave of an object.
pub const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";
/// Annotation: the hook types of an object.
pub const HOOK: &str = "argocd.argoproj.io/hook";
/// Annotation: when a hook is deleted.
pub const HOOK_DELETE_POLICY: &str = "argocd.argoproj.io/hook-delete-policy";
/// Annotation on an Application: the controller leaves it alone.
pub const SKIP_RECONCILE: &str = "argocd.argoproj.io/skip-reconcile";
/// Annotation on an Application: a person has approved deletions, with the time.
pub const DELETION_APPROVED: &str = "argocd.argoproj.io/deletion-approved";
/// Annotation on an Application: a requested refresh.
pub const REFRESH: &str = "argocd.argoproj.io/refresh";
/// Annotation on an Application: paths whose changes matter.
pub const MANIFEST_GENERATE_PATHS: &str = "argocd.argoproj.io/manifest-generate-paths";
/// Finalizer: deleting the Application deletes its objects.
pub const RESOURCES_FINALIZER: &str = "resources-finalizer.argocd.argoproj.io";
/// Finalizer set by the controller for PreDelete hooks.
pub const PRE_DELETE_FINALIZER: &str = "pre-delete-finalizer.argocd.argoproj.io";
/// Finalizer set by the controller for PostDelete hooks.
pub const POST_DELETE_FINALIZER: &str = "post-delete-finalizer.argocd.argoproj.io";
/// Annotation written by client-side apply: what was applied last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Annotation: Helm's hook types.
pub const HELM_HOOK: &str = "helm.sh/hook";
/// Annotation: Helm's hook weight, a wave for Argo CD.
pub const HELM_HOOK_WEIGHT: &str = "helm.sh/hook-weight";
/// Annotation: when Helm deletes a hook.
pub const HELM_HOOK_DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
/// Annotation: Helm keeps the object on uninstall.
pub const HELM_RESOURCE_POLICY: &str = "helm.sh/resource-policy";
/// Label that tracks objects by default under label tracking.
pub const DEFAULT_INSTANCE_LABEL: &str = "app.kubernetes.io/instance";
/// Text that makes Argo CD skip a file of a directory source.
pub const SKIP_FILE_RENDERING: &str = "+argocd:skip-file-rendering";
/// The cluster Argo CD runs in.
pub const IN_CLUSTER_SERVER: &str = "https://kubernetes.default.svc";
/// Name of the cluster Argo CD runs in.
pub const IN_CLUSTER_NAME: &str = "in-cluster";
/// The entry of `argocd-cm` with which kustomizations are built.
pub const BUILD_OPTIONS: &str = "kustomize.buildOptions";
