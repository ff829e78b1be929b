//! Which value files a source names, and where they are.
//!
//! Takes the entries of `valueFiles` and `fileParameters`; hands on [`ValueFile`]s in the order in which helm gets them.

use std::collections::{BTreeMap, BTreeSet};

use super::glob;
use crate::render::{Elsewhere, Inputs, Reference, RenderError, Stop};
use crate::repo::{LinkError, LinkTarget, Tree, clean_path};

/// A file that helm is given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueFile {
    /// A file of the source's own tree.
    Own(String),
    /// A file of the source with this `ref`.
    Referenced(String, String),
    /// A file that helm fetches.
    Remote(String),
}

/// Where value files are looked for.
pub(super) struct Lookup<'a> {
    /// The tree of the source.
    pub(super) tree: &'a Tree,
    /// The source's path in it.
    pub(super) path: &'a str,
    /// The sources with a `ref`, by that name.
    pub(super) references: &'a BTreeMap<String, Reference<'a>>,
    /// Whether the Application has `sources`, so that an unknown `$name` is a mistake and no variable.
    pub(super) multi_source: bool,
    /// URL schemes that value files may have.
    pub(super) schemes: &'a [String],
    /// Puts the build environment into a text.
    pub(super) substitute: &'a dyn Fn(&str) -> String,
}

impl Lookup<'_> {
    /// The value files in order, globs expanded.
    ///
    /// # Errors
    /// When a file is missing, outside of the repository, or has a scheme that is not allowed.
    ///
    /// Source: Argo CD `reposerver/repository/repository.go:getResolvedValueFiles`.
    pub(super) fn value_files(&self, entries: &[String], ignore_missing: bool) -> Result<Vec<ValueFile>, Stop> {
        // A glob leaves those files out that an entry names, so that the entry decides their place.
        let named: BTreeSet<ValueFile> = entries.iter().filter_map(|entry| self.place(entry).ok()).filter(|file| !file.is_glob()).collect();
        let mut files: Vec<ValueFile> = Vec::new();
        let mut add = |file: ValueFile| {
            if !files.contains(&file) {
                files.push(file);
            }
        };
        for entry in entries {
            let file = self.place(entry)?;
            if file.is_glob() {
                let found = self.expand(entry, &file)?;
                if found.is_empty() && !ignore_missing {
                    return Err(failure(
                        format!("values file glob \"{entry}\" matched no files"),
                        "Mend the glob, or set ignoreMissingValueFiles.",
                    ));
                }
                found.into_iter().filter(|file| !named.contains(file)).for_each(&mut add);
            } else if self.exists(&file) {
                add(file);
            } else if !ignore_missing {
                return Err(failure(
                    format!("the value file {entry} does not exist: no such file or directory"),
                    "Add the file, mend the entry in helm.valueFiles, or set ignoreMissingValueFiles.",
                ));
            }
        }
        Ok(files)
    }

    /// One file, which may be absent.
    ///
    /// # Errors
    /// When it is outside of the repository, or has a scheme that is not allowed.
    ///
    /// Source: Argo CD `util/io/path/resolved.go:ResolveValueFilePathOrUrl`.
    pub(super) fn place(&self, entry: &str) -> Result<ValueFile, Stop> {
        let (first, rest) = entry.split_once('/').map_or((entry, None), |(first, rest)| (first, Some(rest)));
        if let Some(name) = first.strip_prefix('$') {
            if let Some((name, reference)) = self.references.get_key_value(name) {
                let tree = reference.tree.as_ref().map_err(|why| Stop::unjudged(format!("value file {entry}"), why.clone()))?;
                let path = (self.substitute)(&format!("/{}", rest.unwrap_or_default()));
                let path = inside(tree, "", &path).ok_or_else(|| leaves(entry))?;
                return Ok(ValueFile::Referenced(name.clone(), path));
            }
            if self.multi_source && rest.is_some() {
                let why = if self.references.is_empty() {
                    "but no source has a 'ref' field defined".to_owned()
                } else {
                    let names: Vec<&str> = self.references.keys().map(String::as_str).collect();
                    format!("which is not one of the available sources ({})", names.join(", "))
                };
                return Err(failure(
                    format!("source referenced \"{first}\", {why}"),
                    format!("Give one of spec.sources `ref: {name}`, or mend the entry {entry}."),
                ));
            }
        }
        let entry = (self.substitute)(entry);
        if let Some(scheme) = url_scheme(&entry) {
            return match self.schemes.iter().any(|allowed| allowed.eq_ignore_ascii_case(scheme)) {
                true => Ok(ValueFile::Remote(entry)),
                false => Err(failure(
                    format!("the URL scheme '{scheme}' is not allowed"),
                    "Use a file, or a scheme of helm.valuesFileSchemes in argocd-cm.",
                )),
            };
        }
        inside(self.tree, self.path, &entry).map(ValueFile::Own).ok_or_else(|| leaves(&entry))
    }

    /// The tree of a file, and its path there; nothing for a remote one.
    pub(super) fn tree_of<'f>(&self, file: &'f ValueFile) -> Option<(&Tree, &'f str)> {
        match file {
            ValueFile::Own(path) => Some((self.tree, path)),
            ValueFile::Referenced(name, path) => Some((self.references.get(name)?.tree.as_ref().ok()?, path)),
            ValueFile::Remote(_) => None,
        }
    }

    /// Whether helm will find something at the place.
    pub(super) fn exists(&self, file: &ValueFile) -> bool {
        self.tree_of(file).is_none_or(|(tree, path)| tree.resolve_link(path).is_ok())
    }

    /// What the entries of `valueFiles` and the paths of `fileParameters` look for, by tree: the files whether they exist or not, and for a
    /// glob the folder in which it looks.
    pub(super) fn noted(&self, entries: &mut dyn Iterator<Item = &str>) -> Vec<Elsewhere> {
        let mut noted: Vec<Elsewhere> = Vec::new();
        for file in entries.filter_map(|entry| self.place(entry).ok()) {
            let Some((tree, path)) = self.tree_of(&file) else { continue };
            let mut inputs = Inputs::default();
            match path.find(['*', '?', '[', '{']) {
                Some(wildcard) if file.is_glob() => {
                    let fixed = path.get(..wildcard).unwrap_or_default();
                    inputs.folder(fixed.rsplit_once('/').map_or("", |(folder, _)| folder));
                }
                _ => inputs.file(path),
            }
            let is_compared =
                matches!(&file, ValueFile::Referenced(name, _) if self.references.get(name).is_some_and(|one| one.is_compared));
            match noted.iter_mut().find(|known| known.tree.revision() == tree.revision() && known.is_compared == is_compared) {
                Some(known) => known.inputs.extend(&inputs),
                None => noted.push(Elsewhere { tree: tree.clone(), inputs, is_compared }),
            }
        }
        noted
    }

    fn expand(&self, entry: &str, file: &ValueFile) -> Result<Vec<ValueFile>, Stop> {
        let Some((tree, pattern)) = self.tree_of(file) else { return Ok(Vec::new()) };
        let found = glob::expand(tree, pattern)
            .ok_or_else(|| failure(format!("error expanding glob pattern \"{entry}\": syntax error in pattern"), "Mend the glob."))?;
        if found.iter().any(|path| matches!(tree.resolve_link(path), Err(LinkError::OutOfBounds { .. }))) {
            return Err(leaves(entry));
        }
        let same_place = |path: String| match file {
            ValueFile::Referenced(name, _) => ValueFile::Referenced(name.clone(), path),
            _ => ValueFile::Own(path),
        };
        Ok(found.into_iter().map(same_place).collect())
    }
}

impl ValueFile {
    /// The path of a file of the source with this `ref`.
    pub(super) fn path_in(&self, reference: &str) -> Option<&str> {
        match self {
            Self::Referenced(name, path) if name == reference => Some(path),
            _ => None,
        }
    }

    fn is_glob(&self) -> bool {
        match self {
            Self::Own(path) | Self::Referenced(_, path) => glob::is_glob(path),
            Self::Remote(_) => false,
        }
    }
}

fn failure(message: String, help: impl Into<String>) -> Stop {
    RenderError::new("render-failed", message, help).into()
}

fn leaves(entry: &str) -> Stop {
    failure(format!("file '{entry}' resolved to outside repository root"), "Keep value files inside the repository.")
}

/// The path from the root of the tree: an absolute one counts from there, another one from `directory`. A link at the end is followed.
/// `None` where it is the root or leaves the tree.
fn inside(tree: &Tree, directory: &str, path: &str) -> Option<String> {
    let joined = if path.starts_with('/') { path.to_owned() } else { format!("{directory}/{path}") };
    let clean = clean_path(&joined).filter(|clean| !clean.is_empty())?;
    match tree.resolve_link(&clean) {
        Ok(LinkTarget::File(entry)) => Some(entry.path.to_string()),
        Err(LinkError::OutOfBounds { .. }) => None,
        _ => Some(clean),
    }
}

/// The scheme of a text that Go's `net/url` takes for a URL with one.
fn url_scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let mut characters = scheme.chars();
    let starts_well = characters.next().is_some_and(|first| first.is_ascii_alphabetic());
    (starts_well && characters.all(|one| one.is_ascii_alphanumeric() || matches!(one, '+' | '-' | '.'))).then_some(scheme)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::argocd::Source;
    use crate::render::fixture::tree;

    /// The files that entries come to for a source at `apps/web` of a repository with these files, or the message.
    fn resolved(files: &[&str], entries: &[&str], ignore_missing: bool, referenced: Option<&[&str]>) -> Result<Vec<String>, String> {
        let plain = |files: &[&str]| tree(&files.iter().map(|file| (*file, "")).collect::<Vec<_>>(), &[]);
        let own = plain(files);
        let other = referenced.map(plain);
        let source = Source::default();
        let references: BTreeMap<String, Reference<'_>> =
            other.iter().map(|tree| ("ref".to_owned(), Reference { source: &source, tree: Ok(tree.clone()), is_compared: true })).collect();
        let schemes = ["https".to_owned()];
        let lookup = Lookup {
            tree: &own,
            path: "apps/web",
            references: &references,
            multi_source: referenced.is_some(),
            schemes: &schemes,
            substitute: &|text| text.replace("$ENV", "prod"),
        };
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        let shown = |file: &ValueFile| match file {
            ValueFile::Own(path) => path.clone(),
            ValueFile::Referenced(name, path) => format!("${name}/{path}"),
            ValueFile::Remote(url) => url.clone(),
        };
        match lookup.value_files(&entries, ignore_missing) {
            Ok(files) => Ok(files.iter().map(shown).collect()),
            Err(Stop::Failed(error)) => Err(error.message.clone()),
            Err(Stop::Unjudged { what, why }) => Err(format!("unjudged {what}: {why}")),
        }
    }

    #[test]
    fn s10_28_a_missing_file_is_an_error_unless_it_may_be_absent() {
        let files = ["apps/web/values.yaml"];
        let error = resolved(&files, &["values.yaml", "none.yaml"], false, None).unwrap_err();
        assert!(error.contains("none.yaml") && error.contains("no such file or directory"), "{error}");
        assert_eq!(resolved(&files, &["none.yaml", "values.yaml"], true, None).unwrap(), ["apps/web/values.yaml"]);
    }

    #[test]
    fn s10_29_the_build_environment_is_put_into_paths() {
        assert_eq!(resolved(&["apps/web/values-prod.yaml"], &["values-$ENV.yaml"], false, None).unwrap(), ["apps/web/values-prod.yaml"]);
    }

    #[test]
    fn s10_30_files_stay_in_the_repository_and_schemes_are_limited() {
        let files = ["apps/web/values.yaml", "values.yaml"];
        let outside = resolved(&files, &["../../../values.yaml"], false, None).unwrap_err();
        assert_eq!(outside, "file '../../../values.yaml' resolved to outside repository root");
        assert_eq!(
            resolved(&files, &["../../values.yaml", "/apps/web/values.yaml"], false, None).unwrap(),
            ["values.yaml", "apps/web/values.yaml"]
        );
        assert_eq!(resolved(&files, &["git://example.test/x"], false, None).unwrap_err(), "the URL scheme 'git' is not allowed");
        assert_eq!(resolved(&files, &["HTTPS://example.test/x"], false, None).unwrap(), ["HTTPS://example.test/x"]);
    }

    #[test]
    fn s10_31_globs_are_expanded_in_order_and_leave_named_files_to_their_entry() {
        let at = |paths: &[&str]| -> Vec<String> { paths.iter().map(|path| format!("apps/web/{path}")).collect() };
        let files = [
            "apps/web/envs/a.yaml",
            "apps/web/envs/z.yaml",
            "apps/web/envs/nested/c.yaml",
            "apps/web/prod/a.yaml",
            "apps/web/prod/b.yaml",
            "apps/web/prod/nested/c.yaml",
            "apps/web/prod/nested/d.yaml",
        ];
        let of = |entries: &[&str]| resolved(&files, entries, false, None).unwrap();
        assert_eq!(of(&["envs/**/*.yaml"]), at(&["envs/a.yaml", "envs/z.yaml", "envs/nested/c.yaml"]));
        assert_eq!(of(&["envs/*.yaml", "envs/z.yaml"]), at(&["envs/a.yaml", "envs/z.yaml"]));
        assert_eq!(of(&["prod/*.yaml", "prod/a.yaml"]), at(&["prod/b.yaml", "prod/a.yaml"]));
        assert_eq!(
            of(&["prod/a.yaml", "prod/*.yaml", "prod/b.yaml", "prod/**/*.yaml", "prod/nested/c.yaml"]),
            at(&["prod/a.yaml", "prod/b.yaml", "prod/nested/d.yaml", "prod/nested/c.yaml"])
        );
        assert_eq!(resolved(&files, &["dev/*.yaml"], false, None).unwrap_err(), "values file glob \"dev/*.yaml\" matched no files");
        assert_eq!(resolved(&files, &["dev/*.yaml"], true, None).unwrap(), Vec::<String>::new());
        let other = resolved(&files, &["$ref/prod/*.yaml"], false, Some(&["prod/x.yaml", "prod/y.yaml"])).unwrap();
        assert_eq!(other, ["$ref/prod/x.yaml", "$ref/prod/y.yaml"]);
    }

    #[test]
    fn s10_32_an_unknown_reference_is_an_error_in_a_multi_source_application_and_a_variable_elsewhere() {
        let files = ["apps/web/values.yaml", "x.yaml"];
        let error = resolved(&files, &["$other/x.yaml"], false, Some(&["x.yaml"])).unwrap_err();
        assert_eq!(error, "source referenced \"$other\", which is not one of the available sources (ref)");
        assert_eq!(resolved(&files, &["$ENV/x.yaml"], true, None).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_path_of_a_reference_counts_from_its_root_and_stays_there() {
        let of = |entry: &str| resolved(&[], &[entry], false, Some(&["envs/prod.yaml"]));
        assert_eq!(of("$ref/envs/$ENV.yaml").unwrap(), ["$ref/envs/prod.yaml"]);
        assert!(of("$ref/../x.yaml").unwrap_err().contains("outside repository root"));
    }

    #[test]
    fn only_what_go_takes_for_a_url_has_a_scheme() {
        assert_eq!(url_scheme("https://example.test/values.yaml"), Some("https"));
        assert_eq!(url_scheme("values:prod.yaml"), Some("values"));
        assert_eq!(url_scheme("envs/a:b.yaml"), None);
        assert_eq!(url_scheme("values.yaml"), None);
        assert_eq!(url_scheme("1a:b"), None);
    }
}
