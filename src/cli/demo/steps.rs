//! The bookshop as data: what is deployed, and the seven pull requests with the live state that each one meets.
//!
//! Hands on [`DEPLOYED`] and [`STEPS`]; everything is embedded in the program.

/// A commit.
pub(super) struct Commit {
    /// Its subject.
    pub(super) subject: &'static str,
    /// Author and committer date.
    pub(super) date: &'static str,
    /// What it changes.
    pub(super) edits: &'static [Edit],
}

/// A change of one file; paths are relative to the repository.
pub(super) enum Edit {
    /// The file has this text.
    Write(&'static str, &'static str),
    /// The file is a ConfigMap that holds this page, as `kubectl create configmap --dry-run=client -o yaml` prints it.
    WritePage(&'static str, &'static str),
    /// The file goes.
    Remove(&'static str),
    /// A part of its text is replaced: path, old, new.
    Replace(&'static str, &'static str, &'static str),
}

/// A pull request and the cluster that it meets.
pub(super) struct Step {
    /// What it is about.
    pub(super) title: &'static str,
    /// What somebody who reviews it knows.
    pub(super) story: &'static str,
    /// Its branch.
    pub(super) branch: &'static str,
    /// What is deployed: where the branch begins.
    pub(super) base: &'static str,
    /// Its only commit. `None` where the branch was merged as the last commit of `main`.
    pub(super) commit: Option<Commit>,
    /// Live objects, as items of the list that kubectl prints.
    pub(super) live: &'static [&'static str],
}

const PAGE: &str = include_str!("repository/site/index.html");
const PREVIEW: &str = "apps/bookshop/preview.yaml";

/// The history of `main`, oldest first. The branch of the first step is its last commit.
pub(super) const DEPLOYED: [Commit; 3] = [
    Commit {
        subject: "Bookshop: a real storefront page",
        date: "2026-11-03T23:04:15-05:00",
        edits: &[
            Edit::Write("argocd/bookshop.yaml", include_str!("repository/argocd/bookshop.yaml")),
            Edit::Write("apps/bookshop/deployment.yaml", include_str!("repository/apps/bookshop/deployment.yaml")),
            Edit::Write("apps/bookshop/service.yaml", include_str!("repository/apps/bookshop/service.yaml")),
            Edit::Write("site/index.html", PAGE),
            Edit::WritePage("apps/bookshop/configmap.yaml", PAGE),
        ],
    },
    Commit {
        subject: "Bookshop: storage for orders and covers",
        date: "2026-11-03T23:04:58-05:00",
        edits: &[Edit::Write("apps/bookshop/storage.yaml", include_str!("repository/apps/bookshop/storage.yaml"))],
    },
    Commit {
        subject: "Bookshop: a preview Service",
        date: "2026-11-03T23:05:41-05:00",
        edits: &[Edit::Write(PREVIEW, include_str!("repository/apps/bookshop/preview.yaml"))],
    },
];

const AUTOMATED: &str = include_str!("live/application.yaml");
const PRUNE_OFF: &str = include_str!("live/application-prune-off.yaml");
const MANUAL: &str = include_str!("live/application-manual.yaml");
const OUT_OF_SYNC: &str = include_str!("live/application-out-of-sync.yaml");
const NAMESPACE: &str = include_str!("live/namespace.yaml");
const LIVE_PAGE: &str = include_str!("live/page.yaml");
const SERVICE: &str = include_str!("live/service.yaml");
const LIVE_PREVIEW: &str = include_str!("live/preview.yaml");
const DEPLOYMENT: &str = include_str!("live/deployment.yaml");
const SCALED: &str = include_str!("live/deployment-scaled.yaml");
const AUTOSCALER: &str = include_str!("live/autoscaler.yaml");
const STORAGE: &str = include_str!("live/storage.yaml");

/// The pull requests, in the order in which they are shown.
pub(super) const STEPS: [Step; 7] = [
    Step {
        title: "a Service is added",
        story: "Like a plant drawn into the plan of a garden: the pull request adds apps/bookshop/preview.yaml, and automated sync plants what is \
                on the plan without asking.",
        branch: "step-1-add-service",
        base: "main~1",
        commit: None,
        live: &[AUTOMATED, NAMESPACE, LIVE_PAGE, SERVICE, DEPLOYMENT, STORAGE],
    },
    Step {
        title: "the Service is removed, prune is on",
        story: "The file is deleted again. Does the gardener pull out a plant that is no longer on the plan? The Application says prune: true.",
        branch: "step-2-remove-service",
        base: "main",
        commit: Some(Commit {
            subject: "Bookshop: remove the preview Service",
            date: "2026-11-03T23:05:48-05:00",
            edits: &[Edit::Remove(PREVIEW)],
        }),
        live: &[AUTOMATED, NAMESPACE, LIVE_PAGE, SERVICE, LIVE_PREVIEW, DEPLOYMENT, STORAGE],
    },
    Step {
        title: "the Service is removed, prune is off",
        story: "The same pull request, but somebody ran `argocd app set bookshop --auto-prune=false`. The file in Git still says prune: true; the \
                Application in the cluster decides.",
        branch: "step-3-remove-service-prune-off",
        base: "main",
        commit: Some(Commit {
            subject: "Bookshop: remove the preview Service, with prune off",
            date: "2026-11-03T23:06:17-05:00",
            edits: &[Edit::Remove(PREVIEW)],
        }),
        live: &[PRUNE_OFF, NAMESPACE, LIVE_PAGE, SERVICE, LIVE_PREVIEW, DEPLOYMENT, STORAGE],
    },
    Step {
        title: "a price changes, the sync is manual",
        story: "The Linux Command Line goes from $29 to $24, in the page and in the ConfigMap made from it. Before, somebody ran `argocd app set \
                bookshop --sync-policy none`: when will customers see the new price?",
        branch: "step-4-new-price",
        base: "main",
        commit: Some(Commit {
            subject: "Bookshop: The Linux Command Line, now $24",
            date: "2026-11-03T23:06:36-05:00",
            edits: &[Edit::Replace("site/index.html", "$29", "$24"), Edit::Replace("apps/bookshop/configmap.yaml", "$29", "$24")],
        }),
        live: &[MANUAL, NAMESPACE, LIVE_PAGE, SERVICE, LIVE_PREVIEW, DEPLOYMENT, STORAGE],
    },
    Step {
        title: "the Application is no longer what its file says",
        story: "Who reads argocd/bookshop.yaml expects this removal to happen by itself: automated, prune: true. But the Application was set to \
                Manual with the CLI, and nothing watches its file, so nothing puts it back.",
        branch: "step-5-trust-the-file",
        base: "main",
        commit: Some(Commit {
            subject: "Bookshop: remove the preview Service, as the Application's file promises",
            date: "2026-11-03T23:07:02-05:00",
            edits: &[Edit::Remove(PREVIEW)],
        }),
        live: &[MANUAL, NAMESPACE, LIVE_PAGE, SERVICE, LIVE_PREVIEW, DEPLOYMENT, STORAGE],
    },
    Step {
        title: "tug of war with an autoscaler",
        story: "On a busy afternoon the team tried an autoscaler, 2 to 10 copies, with `kubectl autoscale`; it went up to 6. Now its file goes \
                into Git. The Deployment there still says replicas: 2, and the Application heals itself.",
        branch: "step-6-add-autoscaler",
        base: "main",
        commit: Some(Commit {
            subject: "Bookshop: scale with the traffic",
            date: "2026-11-07T10:32:20-05:00",
            edits: &[Edit::Write("apps/bookshop/autoscaler.yaml", include_str!("repository/apps/bookshop/autoscaler.yaml"))],
        }),
        live: &[OUT_OF_SYNC, NAMESPACE, LIVE_PAGE, SERVICE, LIVE_PREVIEW, SCALED, AUTOSCALER, STORAGE],
    },
    Step {
        title: "storage is removed",
        story: "A folder is tidied up, and two claims go with apps/bookshop/storage.yaml. In the cluster one of them carries \
                Prune=false,Delete=false, the other carries nothing. Which data is there tomorrow?",
        branch: "step-7-remove-storage",
        base: "main",
        commit: Some(Commit {
            subject: "Bookshop: tidy up",
            date: "2026-11-08T09:12:00-05:00",
            edits: &[Edit::Remove("apps/bookshop/storage.yaml")],
        }),
        live: &[AUTOMATED, NAMESPACE, LIVE_PAGE, SERVICE, LIVE_PREVIEW, DEPLOYMENT, STORAGE],
    },
];
