//! The command line of `helm template`, as Argo CD builds it.
//!
//! Takes the settings with their files resolved; hands on the arguments in Argo CD's order.

use std::collections::BTreeMap;

use super::settings::HelmSettings;
use crate::render::RenderError;

/// What the command line is made of besides the settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Invocation<'a> {
    /// Name of the Application, without its namespace.
    pub(super) application: &'a str,
    /// The destination's namespace.
    pub(super) namespace: &'a str,
    /// The cluster's version of Kubernetes; `None` where it is not known.
    pub(super) kube_version: Option<&'a str>,
    /// What the cluster serves, as `group/version` and `group/version/Kind`, sorted.
    pub(super) api_versions: &'a [String],
    /// Value files as helm finds them.
    pub(super) value_files: &'a [String],
    /// Files of `fileParameters` as helm finds them, by the path of the value.
    pub(super) set_files: &'a BTreeMap<String, String>,
    /// The file with the Application's own values.
    pub(super) inline_values: Option<&'a str>,
}

/// The arguments of `helm`.
///
/// Argo CD gives `--set` and its kin in the random order of a Go map; which comes first decides nothing unless one path is set twice in two
/// spellings. Here they are sorted.
///
/// # Errors
/// When the version of Kubernetes is none.
///
/// Source: Argo CD `util/helm/cmd.go:template`, `reposerver/repository/repository.go:helmTemplate`.
pub(super) fn template(
    settings: &HelmSettings,
    invocation: &Invocation<'_>,
    substitute: &dyn Fn(&str) -> String,
) -> Result<Vec<String>, RenderError> {
    let name = if settings.release_name.is_empty() { invocation.application } else { &settings.release_name };
    let mut arguments: Vec<String> = vec!["template".into(), ".".into(), "--name-template".into(), name.into()];
    let mut push = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
    let namespace = if settings.namespace.is_empty() { invocation.namespace } else { &settings.namespace };
    if !namespace.is_empty() {
        push("--namespace", namespace.to_owned());
    }
    let version = if settings.kube_version.is_empty() { invocation.kube_version.unwrap_or_default() } else { &settings.kube_version };
    if !version.is_empty() {
        push("--kube-version", plain_version(version)?);
    }
    let (mut set, mut set_string) = (BTreeMap::new(), BTreeMap::new());
    for parameter in &settings.parameters {
        let target = if parameter.force_string { &mut set_string } else { &mut set };
        target.insert(parameter.name.as_str(), substitute(&parameter.value));
    }
    for (flag, values) in [("--set", set), ("--set-string", set_string)] {
        for (name, value) in values {
            push(flag, format!("{name}={}", escape_commas(&value)));
        }
    }
    for (name, file) in invocation.set_files {
        push("--set-file", format!("{name}={}", escape_commas(file)));
    }
    for file in invocation.value_files.iter().map(String::as_str).chain(invocation.inline_values) {
        push("--values", file.to_owned());
    }
    let api_versions = if settings.api_versions.is_empty() { invocation.api_versions } else { &settings.api_versions };
    for version in api_versions {
        push("--api-versions", version.clone());
    }
    let switches = [
        (!settings.skip_crds, "--include-crds"),
        (settings.skip_schema_validation, "--skip-schema-validation"),
        (settings.skip_tests, "--skip-tests"),
    ];
    arguments.extend(switches.into_iter().filter(|(on, _)| *on).map(|(_, switch)| switch.to_owned()));
    Ok(arguments)
}

/// A list in braces stays as it is; elsewhere every comma that no backslash stands before gets one.
///
/// Source: Argo CD `util/helm/cmd.go:cleanSetParameters`.
fn escape_commas(value: &str) -> String {
    if value.starts_with('{') && value.ends_with('}') {
        return value.to_owned();
    }
    let mut escaped = String::with_capacity(value.len());
    let mut before = '\0';
    for character in value.chars() {
        if character == ',' && before != '\\' {
            escaped.push('\\');
        }
        escaped.push(character);
        before = character;
    }
    escaped
}

/// The numbers of a version, without `v` before and anything behind.
///
/// Source: Argo CD `reposerver/repository/repository.go:parseKubeVersion`, apimachinery `pkg/util/version/version.go:ParseGeneric`.
pub(super) fn plain_version(version: &str) -> Result<String, RenderError> {
    let text = version.trim_start();
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut numbers: Vec<&str> = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        if number.is_empty() {
            break;
        }
        numbers.push(number);
        match behind.strip_prefix('.') {
            Some(further) => rest = further,
            None => break,
        }
    }
    let is_bad = |number: &&str| (number.len() > 1 && number.starts_with('0')) || number.parse::<u64>().is_err();
    if numbers.is_empty() || numbers.iter().any(is_bad) {
        return Err(RenderError::new(
            "render-failed",
            format!("could not parse kubernetes version {version}"),
            "Say a version such as 1.33.0 in helm.kubeVersion.",
        ));
    }
    Ok(numbers.join("."))
}

#[cfg(test)]
mod tests {
    use super::super::settings::{FileParameter, Parameter};
    use super::*;

    fn parameter(name: &str, value: &str, force_string: bool) -> Parameter {
        Parameter { name: name.into(), value: value.into(), force_string }
    }

    fn substitute(text: &str) -> String {
        text.replace("$ARGOCD_APP_NAME", "test-app")
    }

    #[test]
    fn s10_21_the_command_is_that_of_argo_cd() {
        let settings = HelmSettings {
            parameters: vec![
                parameter("test-param-name", "test-value-$ARGOCD_APP_NAME", true),
                parameter("test-param-bool-name", "false", false),
            ],
            file_parameters: vec![FileParameter { name: "test-file-param-name".into(), path: "test-file-param.yaml".into() }],
            value_files: vec!["my-chart-values.yaml".into()],
            skip_crds: true,
            skip_schema_validation: true,
            skip_tests: true,
            ..HelmSettings::default()
        };
        let invocation = Invocation {
            application: "test-app",
            namespace: "test-namespace",
            kube_version: Some("1.2.3+something"),
            api_versions: &["v1/Test".into(), "v2/Test".into()],
            value_files: &["./my-chart-values.yaml".into()],
            set_files: &BTreeMap::from([("test-file-param-name".into(), "./test-file-param.yaml".into())]),
            inline_values: Some("/tmp/values"),
        };
        let expected = "template . --name-template test-app --namespace test-namespace --kube-version 1.2.3 \
            --set test-param-bool-name=false --set-string test-param-name=test-value-test-app \
            --set-file test-file-param-name=./test-file-param.yaml --values ./my-chart-values.yaml --values /tmp/values \
            --api-versions v1/Test --api-versions v2/Test --skip-schema-validation --skip-tests";
        assert_eq!(template(&settings, &invocation, &substitute).unwrap().join(" "), expected);
    }

    #[test]
    fn s10_22_the_sources_own_settings_win() {
        let settings = HelmSettings {
            namespace: "custom-namespace".into(),
            release_name: "custom-release-name".into(),
            kube_version: "v5.6.7+something".into(),
            api_versions: vec!["v3".into(), "v4".into()],
            ..HelmSettings::default()
        };
        let invocation = Invocation {
            application: "test-app",
            namespace: "test-namespace",
            kube_version: Some("1.2.3"),
            api_versions: &["v1".into()],
            value_files: &[],
            set_files: &BTreeMap::new(),
            inline_values: None,
        };
        let expected = "template . --name-template custom-release-name --namespace custom-namespace --kube-version 5.6.7 \
            --api-versions v3 --api-versions v4 --include-crds";
        assert_eq!(template(&settings, &invocation, &substitute).unwrap().join(" "), expected);
    }

    #[test]
    fn what_is_not_known_is_left_to_helm_and_the_last_of_equal_parameters_counts() {
        let settings = HelmSettings { parameters: vec![parameter("a", "1", false), parameter("a", "2", false)], ..HelmSettings::default() };
        let invocation = Invocation {
            application: "shop",
            namespace: "",
            kube_version: None,
            api_versions: &[],
            value_files: &[],
            set_files: &BTreeMap::new(),
            inline_values: None,
        };
        let expected = ["template", ".", "--name-template", "shop", "--set", "a=2", "--include-crds"];
        assert_eq!(template(&settings, &invocation, &substitute).unwrap(), expected);
    }

    #[test]
    fn s10_24_commas_are_escaped_once() {
        assert_eq!(escape_commas("not, clean"), r"not\, clean");
        assert_eq!(escape_commas(r"a\,b,c"), r"a\,b\,c");
        assert_eq!(escape_commas("{a,b,c}"), "{a,b,c}");
        assert_eq!(escape_commas(r",,,,,\,"), r"\,\,\,\,\,\,");
    }

    #[test]
    fn s10_27_a_cluster_version_is_reduced_to_its_numbers() {
        assert_eq!(plain_version("1.30.11+IKS").unwrap(), "1.30.11");
        assert_eq!(plain_version("v1.33.4-gke.1134000").unwrap(), "1.33.4");
        assert_eq!(plain_version("1.27").unwrap(), "1.27");
        assert!(plain_version("latest").is_err());
        assert!(plain_version("1.027").is_err());
    }
}
