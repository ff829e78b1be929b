//! Build options: what `argocd-cm` says, as arguments for the program that is here.
//!
//! Takes the text of the setting and what the kustomization needs; hands on arguments. Plugins that run programs are never allowed.

/// Options with a value that are passed on.
const WITH_VALUE: [&str; 2] = ["--load-restrictor", "--reorder"];
/// Options that let a kustomization run programs.
const RUN_PROGRAMS: [&str; 3] = ["--enable-alpha-plugins", "--enable_alpha_plugins", "--enable-exec"];

/// The options of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BuildOptions {
    /// Arguments that are passed on as they are.
    pub(super) arguments: Vec<String>,
    /// Whether charts are inflated.
    pub(super) helm: bool,
    /// Whether Argo CD lets kustomizations run programs, which presync does not.
    pub(super) runs_programs: bool,
}

impl BuildOptions {
    /// Reads `kustomize.buildOptions`. Options that change nothing in the output, and those that name places on the repo-server, are left out.
    pub(super) fn parse(text: &str) -> Self {
        let mut options = Self { helm: text.contains("--enable-helm"), ..Self::default() };
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            if RUN_PROGRAMS.contains(&name) {
                options.runs_programs = value != Some("false");
            }
            if !WITH_VALUE.contains(&name) {
                continue;
            }
            let value = value.map(str::to_owned).or_else(|| words.next().map(str::to_owned));
            options.arguments.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        }
        options
    }

    /// The arguments of a build, without the folder.
    ///
    /// Source: Argo CD `util/kustomize/kustomize.go:parseKustomizeBuildOptions`.
    pub(super) fn arguments(&self, kube_version: &str, api_versions: &[&str]) -> Vec<String> {
        let mut arguments = self.arguments.clone();
        if self.helm {
            arguments.push("--enable-helm".to_owned());
            if !kube_version.is_empty() {
                arguments.extend(["--helm-kube-version".to_owned(), kube_version.to_owned()]);
            }
            arguments.extend(api_versions.iter().flat_map(|version| ["--helm-api-versions".to_owned(), (*version).to_owned()]));
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s10_37_helm_options_follow_where_charts_are_inflated() {
        let with = BuildOptions::parse("-v 6 --logtostderr --enable-helm");
        let expected = ["--enable-helm", "--helm-kube-version", "1.27", "--helm-api-versions", "foo", "--helm-api-versions", "bar"];
        assert_eq!(with.arguments("1.27", &["foo", "bar"]), expected);
        assert!(BuildOptions::parse("-v 6 --logtostderr").arguments("1.27", &["foo", "bar"]).is_empty());
    }

    #[test]
    fn what_decides_the_output_is_passed_on_and_programs_are_not_run() {
        let options = BuildOptions::parse("--load-restrictor=LoadRestrictionsNone --reorder none --enable-alpha-plugins --enable-exec");
        assert_eq!(options.arguments, ["--load-restrictor", "LoadRestrictionsNone", "--reorder", "none"]);
        assert!(options.runs_programs);
        assert!(!BuildOptions::parse("--enable-exec=false").runs_programs);
    }
}
