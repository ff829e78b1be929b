//! The fields that Applications, ApplicationSets and AppProjects have: what is not among them, the API server drops.
//!
//! Source: Argo CD `pkg/apis/application/v1alpha1/types.go` and `applicationset_types.go`, of the newest version known; older ones have fewer.

use serde_json::Value;

/// A field that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// JSON pointer of the field.
    pub pointer: String,
    /// Where a field of this name belongs, as a dotted path.
    pub belongs: Option<String>,
    /// Whether it belongs nowhere else.
    pub is_only_place: bool,
}

/// What may stand at a place.
enum Shape {
    /// Anything.
    Any,
    /// A map or a list of maps with these fields and shapes.
    Fields(&'static [(&'static str, &'static Shape)]),
}

use Shape::{Any, Fields};

const HELM: Shape = Fields(&[
    ("apiVersions", &Any),
    ("fileParameters", &NAME_PATH),
    ("ignoreMissingValueFiles", &Any),
    ("kubeVersion", &Any),
    ("namespace", &Any),
    ("parameters", &HELM_PARAMETER),
    ("passCredentials", &Any),
    ("releaseName", &Any),
    ("skipCrds", &Any),
    ("skipSchemaValidation", &Any),
    ("skipTests", &Any),
    ("valueFiles", &Any),
    ("values", &Any),
    ("valuesObject", &Any),
    ("version", &Any),
]);
const HELM_PARAMETER: Shape = Fields(&[("name", &Any), ("value", &Any), ("forceString", &Any)]);
const NAME_PATH: Shape = Fields(&[("name", &Any), ("path", &Any)]);
const NAME_VALUE: Shape = Fields(&[("name", &Any), ("value", &Any)]);
const KUSTOMIZE: Shape = Fields(&[
    ("apiVersions", &Any),
    ("commonAnnotations", &Any),
    ("commonAnnotationsEnvsubst", &Any),
    ("commonLabels", &Any),
    ("components", &Any),
    ("forceCommonAnnotations", &Any),
    ("forceCommonLabels", &Any),
    ("ignoreMissingComponents", &Any),
    ("images", &Any),
    ("kubeVersion", &Any),
    ("labelIncludeTemplates", &Any),
    ("labelWithoutSelector", &Any),
    ("namePrefix", &Any),
    ("nameSuffix", &Any),
    ("namespace", &Any),
    ("patches", &Any),
    ("replicas", &Any),
    ("version", &Any),
]);
const JSONNET_VAR: Shape = Fields(&[("name", &Any), ("value", &Any), ("code", &Any)]);
const DIRECTORY: Shape = Fields(&[
    ("disableExtensionFilter", &Any),
    ("exclude", &Any),
    ("include", &Any),
    ("jsonnet", &Fields(&[("extVars", &JSONNET_VAR), ("tlas", &JSONNET_VAR), ("libs", &Any)])),
    ("recurse", &Any),
]);
const SOURCE: Shape = Fields(&[
    ("chart", &Any),
    ("directory", &DIRECTORY),
    ("helm", &HELM),
    ("kustomize", &KUSTOMIZE),
    ("name", &Any),
    ("path", &Any),
    ("plugin", &Fields(&[("name", &Any), ("env", &NAME_VALUE), ("parameters", &Any)])),
    ("ref", &Any),
    ("repoURL", &Any),
    ("tagPrefix", &Any),
    ("targetRevision", &Any),
]);
const DRY_SOURCE: Shape = Fields(&[
    ("repoURL", &Any),
    ("targetRevision", &Any),
    ("path", &Any),
    ("helm", &HELM),
    ("kustomize", &KUSTOMIZE),
    ("directory", &DIRECTORY),
    ("plugin", &Any),
]);
const RETRY: Shape =
    Fields(&[("limit", &Any), ("refresh", &Any), ("backoff", &Fields(&[("duration", &Any), ("factor", &Any), ("maxDuration", &Any)]))]);
const SYNC_POLICY: Shape = Fields(&[
    ("automated", &Fields(&[("allowEmpty", &Any), ("enabled", &Any), ("prune", &Any), ("selfHeal", &Any)])),
    ("managedNamespaceMetadata", &Fields(&[("annotations", &Any), ("labels", &Any)])),
    ("retry", &RETRY),
    ("syncOptions", &Any),
]);
const APPLICATION_SPEC: Shape = Fields(&[
    ("destination", &Fields(&[("name", &Any), ("namespace", &Any), ("server", &Any)])),
    (
        "ignoreDifferences",
        &Fields(&[
            ("group", &Any),
            ("jqPathExpressions", &Any),
            ("jsonPointers", &Any),
            ("kind", &Any),
            ("managedFieldsManagers", &Any),
            ("name", &Any),
            ("namespace", &Any),
        ]),
    ),
    ("info", &NAME_VALUE),
    ("project", &Any),
    ("revisionHistoryLimit", &Any),
    ("source", &SOURCE),
    (
        "sourceHydrator",
        &Fields(&[
            ("drySource", &DRY_SOURCE),
            ("syncSource", &Fields(&[("targetBranch", &Any), ("path", &Any), ("repoURL", &Any)])),
            ("hydrateTo", &Fields(&[("targetBranch", &Any)])),
        ]),
    ),
    ("sources", &SOURCE),
    ("syncPolicy", &SYNC_POLICY),
]);
const TEMPLATE: Shape = Fields(&[
    ("metadata", &Fields(&[("name", &Any), ("namespace", &Any), ("labels", &Any), ("annotations", &Any), ("finalizers", &Any)])),
    ("spec", &APPLICATION_SPEC),
]);
const SELECTOR: Shape =
    Fields(&[("matchLabels", &Any), ("matchExpressions", &Fields(&[("key", &Any), ("operator", &Any), ("values", &Any)]))]);
const PATH_ITEM: Shape = Fields(&[("path", &Any), ("exclude", &Any)]);
const LIST: Shape = Fields(&[("elements", &Any), ("elementsYaml", &Any), ("template", &TEMPLATE)]);
const CLUSTERS: Shape = Fields(&[("selector", &SELECTOR), ("template", &TEMPLATE), ("values", &Any), ("flatList", &Any)]);
const GIT: Shape = Fields(&[
    ("directories", &PATH_ITEM),
    ("files", &PATH_ITEM),
    ("pathParamPrefix", &Any),
    ("repoURL", &Any),
    ("requeueAfterSeconds", &Any),
    ("revision", &Any),
    ("template", &TEMPLATE),
    ("values", &Any),
]);
const DECISION: Shape = Fields(&[
    ("configMapRef", &Any),
    ("labelSelector", &SELECTOR),
    ("name", &Any),
    ("requeueAfterSeconds", &Any),
    ("template", &TEMPLATE),
    ("values", &Any),
]);
/// Unknown kinds of generators have a rule of their own.
const GENERATOR: Shape = Fields(&[
    ("list", &LIST),
    ("clusters", &CLUSTERS),
    ("git", &GIT),
    ("scmProvider", &Any),
    ("clusterDecisionResource", &DECISION),
    ("pullRequest", &Any),
    ("plugin", &Any),
    ("selector", &SELECTOR),
    ("matrix", &Fields(&[("generators", &CHILD), ("template", &TEMPLATE)])),
    ("merge", &Fields(&[("generators", &CHILD), ("mergeKeys", &Any), ("template", &TEMPLATE)])),
    ("*", &Any),
]);
const CHILD: Shape = Fields(&[
    ("list", &LIST),
    ("clusters", &CLUSTERS),
    ("git", &GIT),
    ("clusterDecisionResource", &DECISION),
    ("selector", &SELECTOR),
    ("*", &Any),
]);
const SET_SPEC: Shape = Fields(&[
    ("applyNestedSelectors", &Any),
    ("generators", &GENERATOR),
    ("goTemplate", &Any),
    ("goTemplateOptions", &Any),
    ("ignoreApplicationDifferences", &Fields(&[("jqPathExpressions", &Any), ("jsonPointers", &Any), ("name", &Any)])),
    ("preservedFields", &Fields(&[("annotations", &Any), ("labels", &Any)])),
    (
        "strategy",
        &Fields(&[
            ("type", &Any),
            ("deletionOrder", &Any),
            (
                "rollingSync",
                &Fields(&[(
                    "steps",
                    &Fields(&[("matchExpressions", &Fields(&[("key", &Any), ("operator", &Any), ("values", &Any)])), ("maxUpdate", &Any)]),
                )]),
            ),
        ]),
    ),
    ("syncPolicy", &Fields(&[("applicationsSync", &Any), ("preserveResourcesOnDeletion", &Any)])),
    ("template", &TEMPLATE),
    ("templatePatch", &Any),
]);
const GROUP_KIND: Shape = Fields(&[("group", &Any), ("kind", &Any), ("name", &Any)]);
const PROJECT_SPEC: Shape = Fields(&[
    ("clusterResourceBlacklist", &GROUP_KIND),
    ("clusterResourceWhitelist", &GROUP_KIND),
    ("description", &Any),
    ("destinationServiceAccounts", &Fields(&[("server", &Any), ("namespace", &Any), ("defaultServiceAccount", &Any)])),
    ("destinations", &Fields(&[("name", &Any), ("namespace", &Any), ("server", &Any)])),
    ("namespaceResourceBlacklist", &GROUP_KIND),
    ("namespaceResourceWhitelist", &GROUP_KIND),
    ("orphanedResources", &Fields(&[("warn", &Any), ("ignore", &GROUP_KIND)])),
    ("permitOnlyProjectScopedClusters", &Any),
    ("roles", &Fields(&[("name", &Any), ("description", &Any), ("policies", &Any), ("jwtTokens", &Any), ("groups", &Any)])),
    ("signatureKeys", &Any),
    ("sourceIntegrity", &Any),
    ("sourceNamespaces", &Any),
    ("sourceRepos", &Any),
    (
        "syncWindows",
        &Fields(&[
            ("andOperator", &Any),
            ("applications", &Any),
            ("clusters", &Any),
            ("description", &Any),
            ("duration", &Any),
            ("kind", &Any),
            ("manualSync", &Any),
            ("namespaces", &Any),
            ("schedule", &Any),
            ("syncOverrun", &Any),
            ("timeZone", &Any),
        ]),
    ),
]);

/// The fields under `spec` that an object of Argo CD's does not have. Nothing for other kinds.
pub fn unknown_fields(object: &Value) -> Vec<UnknownField> {
    let shape = match object.get("kind").and_then(Value::as_str) {
        _ if crate::manifest::key::group_of(object) != super::names::GROUP => return Vec::new(),
        Some("Application") => &APPLICATION_SPEC,
        Some("ApplicationSet") => &SET_SPEC,
        Some("AppProject") => &PROJECT_SPEC,
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    if let Some(spec) = object.get("spec") {
        walk(spec, shape, &mut "/spec".to_owned(), shape, &mut found);
    }
    found
}

fn walk(value: &Value, shape: &Shape, at: &mut String, root: &Shape, found: &mut Vec<UnknownField>) {
    let Fields(known) = shape else { return };
    let above = at.len();
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push('/');
                at.push_str(&index.to_string());
                walk(item, shape, at, root, found);
                at.truncate(above);
            }
        }
        Value::Object(fields) => {
            let open = known.iter().any(|(name, _)| *name == "*");
            for (name, value) in fields {
                at.push('/');
                at.push_str(&name.replace('~', "~0").replace('/', "~1"));
                match known.iter().find(|(field, _)| field == name) {
                    Some((_, shape)) => walk(value, shape, at, root, found),
                    None if open || value.is_null() => {}
                    None => {
                        let places = places_of(name, root, "spec", 6);
                        let is_only_place = places.len() == 1;
                        let belongs = places.into_iter().min_by_key(|path| path.matches('.').count());
                        found.push(UnknownField { pointer: at.clone(), belongs, is_only_place });
                    }
                }
                at.truncate(above);
            }
        }
        _ => {}
    }
}

/// The places where a field of this name belongs.
fn places_of(name: &str, shape: &Shape, at: &str, depth: usize) -> Vec<String> {
    let Fields(known) = shape else { return Vec::new() };
    if depth == 0 {
        return Vec::new();
    }
    let here = known.iter().any(|(field, _)| *field == name).then(|| format!("{at}.{name}"));
    let inner = known.iter().flat_map(|(field, shape)| places_of(name, shape, &format!("{at}.{field}"), depth - 1));
    here.into_iter().chain(inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn unknown(kind: &str, spec: Value) -> Vec<(String, Option<String>)> {
        let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": "x"}, "spec": spec});
        unknown_fields(&object).into_iter().map(|field| (field.pointer, field.belongs)).collect()
    }

    #[test]
    fn a_field_in_the_wrong_place_is_told_where_it_belongs() {
        let spec = json!({"template": {"spec": {"syncPolicy": {"preserveResourcesOnDeletion": true}}}});
        assert_eq!(
            unknown("ApplicationSet", spec),
            [(
                "/spec/template/spec/syncPolicy/preserveResourcesOnDeletion".to_owned(),
                Some("spec.syncPolicy.preserveResourcesOnDeletion".to_owned())
            )]
        );
        assert_eq!(unknown("Application", json!({"spec": {}})), [("/spec/spec".to_owned(), None)]);
        let prune = json!({"syncPolicy": {"prune": true}});
        assert_eq!(
            unknown("Application", prune),
            [("/spec/syncPolicy/prune".to_owned(), Some("spec.syncPolicy.automated.prune".to_owned()))]
        );
        let in_a_list = json!({"sources": [{"path": "x"}, {"paths": "y"}]});
        assert_eq!(unknown("Application", in_a_list), [("/spec/sources/1/paths".to_owned(), None)]);
    }

    #[test]
    fn free_places_hold_anything() {
        let spec = json!({"generators": [{"list": {"elements": [{"any": {"thing": 1}}]}}, {"git": {"values": {"a": "b"}}}, {"lists": {}}],
            "template": {"metadata": {"labels": {"a/b": "c"}}, "spec": {"source": {"helm": {"valuesObject": {"deep": {"x": 1}}}}}}});
        assert!(unknown("ApplicationSet", spec).is_empty());
        assert!(unknown("Deployment", json!({"anything": 1})).is_empty());
        let matrix = json!({"generators": [{"matrix": {"generators": [{"git": {"branch": "x"}}]}}]});
        assert_eq!(unknown("ApplicationSet", matrix).len(), 1);
    }
}
