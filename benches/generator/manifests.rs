//! The YAML texts of a fleet, as people write them.
//!
//! Takes a service; hands on the texts of its files.

use super::service::{Extra, Layout, Service};
use super::{REPOSITORY, SERVER};

/// The manifests of a service: name of the file without ending, sub-folder where the layout has some, and text.
pub(super) fn of(service: &Service) -> [(&'static str, &'static str, String); 4] {
    let (extra, folder, text) = match service.extra() {
        Extra::Ingress => ("ingress", "network", ingress(service)),
        Extra::Claim => ("claim", "workload", claim(service)),
        Extra::Autoscaler => ("autoscaler", "workload", autoscaler(service)),
        Extra::DisruptionBudget => ("disruption-budget", "workload", disruption_budget(service)),
    };
    [
        ("deployment", "workload", deployment(service)),
        ("service", "network", network_service(service)),
        ("settings", "settings", settings(service)),
        (extra, folder, text),
    ]
}

/// The files of a service: path in its folder, and text.
pub(super) fn files(service: &Service) -> Vec<(String, String)> {
    let manifests = of(service);
    match service.layout() {
        Layout::OneFile => vec![("all.yaml".to_owned(), manifests.map(|(_, _, text)| text).join("---\n"))],
        Layout::Folders => manifests.into_iter().map(|(name, folder, text)| (format!("{folder}/{name}.yaml"), text)).collect(),
        Layout::Flat => manifests.into_iter().map(|(name, _, text)| (format!("{name}.yaml"), text)).collect(),
        Layout::Included => {
            let flat = manifests.into_iter().map(|(name, _, text)| (format!("{name}.yaml"), text));
            let dashboard = format!("{{\"title\": \"{}\", \"panels\": [{{\"type\": \"graph\"}}]}}\n", service.application());
            flat.chain([("dashboard.json".to_owned(), dashboard)]).collect()
        }
    }
}

fn deployment(service: &Service) -> String {
    let Service { team, name, .. } = service;
    let image = service.image();
    let replicas = service.replicas().map_or_else(String::new, |count| format!("  replicas: {count}\n"));
    let (strategy, mounts, volumes) = if service.extra() == Extra::Claim {
        (
            "  strategy:\n    type: Recreate\n".to_owned(),
            "        volumeMounts:\n        - name: data\n          mountPath: /var/lib/data\n".to_owned(),
            format!("      volumes:\n      - name: data\n        persistentVolumeClaim:\n          claimName: {name}-data\n"),
        )
    } else {
        Default::default()
    };
    format!(
        "\
# Run book: https://wiki.example.test/{team}/{name}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: {team}
spec:
{replicas}  revisionHistoryLimit: 3
{strategy}  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {name}
        app.kubernetes.io/part-of: {team}
    spec:
      containers:
      - name: {name}
        image: {image}
        ports:
        - name: http
          containerPort: 8080
        envFrom:
        - configMapRef:
            name: {name}-settings
        env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        readinessProbe:
          httpGet:
            path: /ready
            port: http
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
          limits:
            memory: 256Mi
{mounts}{volumes}"
    )
}

fn network_service(service: &Service) -> String {
    let Service { team, name, .. } = service;
    format!(
        "\
apiVersion: v1
kind: Service
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: {team}
spec:
  selector:
    app.kubernetes.io/name: {name}
  ports:
  - name: http
    port: 80
    targetPort: http
"
    )
}

fn settings(service: &Service) -> String {
    let Service { team, name, number } = service;
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}-settings
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: {team}
data:
  LOG_LEVEL: info
  HTTP_PORT: \"8080\"
  UPSTREAM: http://gateway.{team}.svc.cluster.local
  FEATURES: search,export
  SHARD: \"{number}\"
"
    )
}

fn ingress(service: &Service) -> String {
    let Service { team, name, .. } = service;
    format!(
        "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: {team}
  annotations:
    cert-manager.io/cluster-issuer: public
spec:
  ingressClassName: nginx
  tls:
  - hosts:
    - {name}.{team}.example.test
    secretName: {name}-tls
  rules:
  - host: {name}.{team}.example.test
    http:
      paths:
      - path: /
        pathType: Prefix
        backend:
          service:
            name: {name}
            port:
              name: http
"
    )
}

fn claim(service: &Service) -> String {
    let Service { team, name, .. } = service;
    format!(
        "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {name}-data
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: {team}
  annotations:
    argocd.argoproj.io/sync-options: Prune=false,Delete=false
spec:
  accessModes:
  - ReadWriteOnce
  storageClassName: standard
  resources:
    requests:
      storage: 10Gi
"
    )
}

fn autoscaler(service: &Service) -> String {
    let Service { team, name, .. } = service;
    format!(
        "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: {team}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {name}
  minReplicas: 2
  maxReplicas: 6
  metrics:
  - type: Resource
    resource:
      name: cpu
      target:
        type: Utilization
        averageUtilization: 70
"
    )
}

fn disruption_budget(service: &Service) -> String {
    let Service { team, name, .. } = service;
    format!(
        "\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: {team}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
"
    )
}

/// The Application of a service.
pub(super) fn application(service: &Service) -> String {
    let directory = match service.layout() {
        Layout::Flat | Layout::OneFile => "",
        Layout::Folders => "    directory:\n      recurse: true\n",
        Layout::Included => "    directory:\n      include: \"*.yaml\"\n",
    };
    let automated = if service.is_manual() { "" } else { "    automated:\n      prune: true\n      selfHeal: true\n" };
    let (name, team, folder) = (service.application(), service.team, service.folder());
    format!(
        "\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {name}
  namespace: argocd
  labels:
    team: {team}
  finalizers:
  - resources-finalizer.argocd.argoproj.io
spec:
  project: {team}
  source:
    repoURL: {REPOSITORY}
    targetRevision: main
    path: {folder}
{directory}  destination:
    server: {SERVER}
    namespace: {team}
  syncPolicy:
{automated}    syncOptions:
    - CreateNamespace=true
"
    )
}

/// An Application of Applications or projects, over a folder.
pub(super) fn parent(name: &str, folder: &str) -> String {
    format!(
        "\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {name}
  namespace: argocd
spec:
  project: default
  source:
    repoURL: {REPOSITORY}
    targetRevision: main
    path: {folder}
  destination:
    server: {SERVER}
    namespace: argocd
  syncPolicy:
    automated:
      prune: true
      selfHeal: true
"
    )
}

/// The project of a team.
pub(super) fn project(team: &str) -> String {
    format!(
        "\
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata:
  name: {team}
  namespace: argocd
spec:
  description: Services of team {team}
  sourceRepos:
  - {REPOSITORY}
  destinations:
  - server: {SERVER}
    namespace: {team}
  clusterResourceWhitelist:
  - group: \"\"
    kind: Namespace
"
    )
}
