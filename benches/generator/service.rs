//! The services of a fleet: what each is called, where it lies, and how it differs from its neighbours.
//!
//! Takes a number; hands on a [`Service`]. Everything follows from the number.

/// Teams; each has one namespace and one project.
const TEAMS: [&str; 25] = [
    "accounts",
    "analytics",
    "billing",
    "bookings",
    "catalog",
    "checkout",
    "content",
    "delivery",
    "fraud",
    "identity",
    "inventory",
    "loyalty",
    "media",
    "messaging",
    "orders",
    "partners",
    "payments",
    "pricing",
    "profiles",
    "returns",
    "reviews",
    "search",
    "shipping",
    "stores",
    "support",
];
/// What a team runs.
const ROLES: [&str; 40] = [
    "api",
    "archive",
    "audit",
    "backoffice",
    "batch",
    "bridge",
    "cache",
    "cleaner",
    "collector",
    "console",
    "consumer",
    "dispatcher",
    "edge",
    "events",
    "exporter",
    "feed",
    "forms",
    "gateway",
    "history",
    "importer",
    "indexer",
    "jobs",
    "ledger",
    "limits",
    "mailer",
    "matcher",
    "notifier",
    "planner",
    "portal",
    "proxy",
    "reader",
    "reports",
    "router",
    "rules",
    "scorer",
    "status",
    "sync",
    "web",
    "webhooks",
    "writer",
];

/// The manifest that a service has besides Deployment, Service and ConfigMap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    /// It is reached from outside.
    Ingress,
    /// It keeps files.
    Claim,
    /// It is scaled by load.
    Autoscaler,
    /// It bounds evictions.
    DisruptionBudget,
}

/// How the files of a service lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One file a manifest.
    Flat,
    /// Files in sub-folders, read with `directory.recurse`.
    Folders,
    /// Beside files that are no manifests, kept out with `directory.include`.
    Included,
    /// All manifests in one file.
    OneFile,
}

/// One service, which is one Application.
#[derive(Clone, Debug)]
pub(super) struct Service {
    /// Its place in the fleet, from 0.
    pub(super) number: usize,
    /// The team: also namespace and project.
    pub(super) team: &'static str,
    /// Name of its objects; unique in the team.
    pub(super) name: String,
}

impl Service {
    pub(super) fn new(number: usize) -> Self {
        let team = TEAMS[number % TEAMS.len()];
        let role = ROLES[number / TEAMS.len() % ROLES.len()];
        let round = number / (TEAMS.len() * ROLES.len());
        Self { number, team, name: if round == 0 { role.to_owned() } else { format!("{role}-{}", round + 1) } }
    }

    /// Name of the Application.
    pub(super) fn application(&self) -> String {
        format!("{}-{}", self.team, self.name)
    }

    /// Folder of its manifests.
    pub(super) fn folder(&self) -> String {
        format!("apps/{}/{}", self.team, self.name)
    }

    /// The file that the Deployment is in.
    pub(super) fn deployment_path(&self) -> String {
        let file = match self.layout() {
            Layout::Flat | Layout::Included => "deployment.yaml",
            Layout::Folders => "workload/deployment.yaml",
            Layout::OneFile => "all.yaml",
        };
        format!("{}/{file}", self.folder())
    }

    pub(super) fn layout(&self) -> Layout {
        match self.digit(10) {
            3 => Layout::Folders,
            5 => Layout::OneFile,
            7 => Layout::Included,
            _ => Layout::Flat,
        }
    }

    pub(super) fn extra(&self) -> Extra {
        match self.digit(20) {
            0..9 => Extra::Ingress,
            9..14 => Extra::Claim,
            14..17 => Extra::Autoscaler,
            _ => Extra::DisruptionBudget,
        }
    }

    /// Whether a person syncs it.
    pub(super) fn is_manual(&self) -> bool {
        self.digit(40) == 21
    }

    /// The replicas that Git asks for; `None` where an autoscaler decides.
    pub(super) fn replicas(&self) -> Option<usize> {
        match self.extra() {
            Extra::Autoscaler => None,
            // A claim is written by one Pod at a time.
            Extra::Claim => Some(1),
            Extra::Ingress | Extra::DisruptionBudget => Some(2),
        }
    }

    /// The image of its container.
    pub(super) fn image(&self) -> String {
        format!("registry.example.test/{}/{}:2.{}.{}", self.team, self.name, self.digit(30), self.digit(7))
    }

    /// A number below `bound` in which neighbours differ but which has no simple pattern.
    fn digit(&self, bound: usize) -> usize {
        let mixed = (self.number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        usize::try_from((mixed >> 33) % bound as u64).unwrap_or_default()
    }
}

/// The teams of a fleet.
pub(super) fn teams(services: &[Service]) -> impl Iterator<Item = &'static str> {
    TEAMS.into_iter().take(services.len())
}
