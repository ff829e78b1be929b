//! Trees, requests and programs for tests of renderers.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use super::charts::Charts;
use super::directory::Selections;
use super::jsonnet::Imports;
use super::program::{Limits, Programs, Versions};
use super::scratch::Scratch;
use super::{Capabilities, Identity, Job, Reference, Rendered, Request, Stop, Workshop};
use crate::argocd::names::{GROUP, SKIP_FILE_RENDERING};
use crate::argocd::{Settings, Source};
use crate::manifest::Side;
use crate::repo::{Kept, Parser, Repository, Tree, clean_path};

#[path = "../../tests/support/tools.rs"]
#[allow(dead_code, clippy::expect_used, reason = "it is shared with tests that run the program itself")]
pub(crate) mod tools;

thread_local! {
    /// The repositories of a test; they go with its thread.
    static REPOSITORIES: RefCell<Vec<TempDir>> = const { RefCell::new(Vec::new()) };
}

/// The tree of a repository with these files and symbolic links. The repository stays on disk as long as the test.
pub(crate) fn tree(files: &[(&str, &str)], links: &[(&str, &str)]) -> Tree {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().to_owned();
    REPOSITORIES.with(|repositories| repositories.borrow_mut().push(temporary));
    let place = |path: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    files.iter().for_each(|(path, contents)| std::fs::write(place(path), contents).unwrap());
    links.iter().for_each(|(path, target)| std::os::unix::fs::symlink(target, place(path)).unwrap());
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--allow-empty", "--message", "files"]);
    let repository = Repository::discover(&folder).unwrap();
    repository.commit_tree(&repository.resolve("HEAD").unwrap()).unwrap()
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.test", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A source out of JSON.
pub(crate) fn source(settings: Value) -> Source {
    Source::deserialize(settings).unwrap()
}

/// All that a request refers to.
pub(crate) struct Setup {
    pub(crate) workshop: Workshop,
    pub(crate) identity: Identity,
    pub(crate) capabilities: Capabilities,
    references: BTreeMap<String, Reference<'static>>,
}

impl Setup {
    /// Offline, with the pinned programs, a fresh Argo CD and an Application of this name whose objects go to the namespace `shop`.
    pub(crate) fn new(instance: &str) -> Self {
        Self {
            workshop: Workshop {
                parser: Parser::new(SKIP_FILE_RENDERING, GROUP, Kept::default()),
                imports: Imports::default(),
                selections: Selections::default(),
                scratch: Scratch::default(),
                charts: Charts::default(),
                programs: Programs::in_folder(tools::folder()),
                versions: Versions::default(),
                plugins: BTreeMap::new(),
                limits: Limits::default(),
                cache: None,
                offline: true,
                settings: Settings::default(),
                settings_known: false,
            },
            identity: Identity {
                name: instance.into(),
                instance: instance.to_owned(),
                project: "default".to_owned(),
                destination_namespace: "shop".to_owned(),
            },
            capabilities: Capabilities::default(),
            references: BTreeMap::new(),
        }
    }

    /// The same where `argocd-cm` has these entries.
    pub(crate) fn with_entries(mut self, entries: &[(&str, &str)]) -> Self {
        let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        self.workshop.settings = Settings::new(None, "argocd", entries);
        self.workshop.settings_known = true;
        self
    }

    /// A request for a source.
    pub(crate) fn request<'a>(&'a self, tree: &'a Tree, source: &'a Source) -> Request<'a> {
        Request {
            workshop: &self.workshop,
            identity: &self.identity,
            source: Cow::Borrowed(source),
            is_multi_source: false,
            tree: tree.clone(),
            side: Side::Head,
            path: clean_path(&source.path).unwrap(),
            revision: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            references: &self.references,
            capabilities: &self.capabilities,
        }
    }

    /// What a source renders to.
    pub(crate) fn render(&self, tree: &Tree, settings: Value) -> Result<Rendered, Stop> {
        Job::new(self.request(tree, &source(settings)))?.run()
    }
}
