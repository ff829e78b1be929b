//! The annotation `manifest-generate-paths`: which changed files make Argo CD look at an Application again.
//!
//! Takes the annotation and the paths of the sources; tells whether a changed file is covered. It says nothing about what a source reads.

use super::Application;
use super::go::path;
use super::names::MANIFEST_GENERATE_PATHS;
use crate::manifest::annotation;

/// The paths of one Application.
///
/// Source: Argo CD `util/app/path/path.go:GetAppRefreshPaths`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratePaths(Vec<String>);

impl GeneratePaths {
    /// The paths of an Application's annotation, for sources with these paths; `None` where every commit counts.
    pub fn of<'a>(application: &Application, source_paths: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let text = annotation(&application.object, MANIFEST_GENERATE_PATHS)?;
        let paths = source_paths.into_iter().flat_map(|path| parse(text, path)).collect::<Vec<_>>();
        (!paths.is_empty()).then_some(Self(paths))
    }

    /// Whether a changed file makes Argo CD look again.
    ///
    /// Source: Argo CD `util/app/path/path.go:AppFilesHaveChanged`.
    pub fn covers(&self, file: &str) -> bool {
        self.0.iter().any(|path| path.is_empty() || file == path || is_below(file, path) || path::matches(path, file) == Some(true))
    }
}

fn parse(text: &str, source_path: &str) -> Vec<String> {
    let entries = text.split(';').map(str::trim).filter(|entry| !entry.is_empty());
    let paths = entries.map(|entry| match entry.strip_prefix('/') {
        Some(from_root) => clean(from_root),
        None => clean(&format!("{source_path}/{entry}")),
    });
    paths.collect()
}

/// Source: Go `path/filepath.Clean`; what leads above the root stays at the root.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn is_below(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s10_41_paths_are_relative_to_the_source_or_to_the_root() {
        let paths = |text: &str| parse(text, "source/path");
        assert_eq!(paths(".;dev/deploy;other/path"), ["source/path", "source/path/dev/deploy", "source/path/other/path"]);
        assert_eq!(paths(".;;"), ["source/path"]);
        assert_eq!(paths("/fullpath/deploy; other/path "), ["fullpath/deploy", "source/path/other/path"]);
        assert_eq!(paths("../shared"), ["source/shared"]);
        assert_eq!(parse("/", ""), [""]);
    }

    #[test]
    fn folders_cover_what_is_below_and_patterns_one_level() {
        let covers = |text: &str, file: &str| GeneratePaths(parse(text, "apps/web")).covers(file);
        assert!(covers(".", "apps/web/a/b.yaml") && !covers(".", "apps/website/b.yaml"));
        assert!(covers("/shared/values.yaml", "shared/values.yaml"));
        assert!(covers("/shared/*.yaml", "shared/a.yaml") && !covers("/shared/*.yaml", "shared/b/a.yaml"));
        assert!(covers("/shared/[a-c]?.yaml", "shared/b1.yaml") && !covers("/shared/[^a-c]?.yaml", "shared/b1.yaml"));
        assert!(!covers("/shared/[a-", "shared/a") && covers("/", "anything"));
    }
}
