//! The Kustomize settings of an Application, applied to its kustomization.
//!
//! Takes the settings and what the kustomization says; changes the latter as Argo CD does with `kustomize edit`, in the same order.

use serde_json::{Map, Value, json};

use crate::render::environment::Environment;
use crate::repo::{Tree, clean_path};

/// `spec.source.kustomize`.
pub(super) struct Settings<'a>(pub(super) &'a Map<String, Value>);

/// A setting that Argo CD refuses.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditError {
    /// An image that cannot be read.
    #[error("the image `{0}` of the Application is none of <image>=<new image>:<tag>, <image>:<tag> and <image>@<digest>")]
    Image(String),
    /// A count that is no number.
    #[error("the replica count `{count}` of {name} is no whole number")]
    Replicas {
        /// Whose.
        name: String,
        /// The count.
        count: String,
    },
    /// A label or annotation that the kustomization has already.
    #[error("{what} {name} is in the kustomization already, and the Application does not force it")]
    Present {
        /// `label` or `annotation`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Templates without selectors only.
    #[error("labelIncludeTemplates needs labelWithoutSelector")]
    IncludeTemplates,
    /// A field of the kustomization has another shape than Kustomize expects.
    #[error("`{0}` of the kustomization has an unexpected shape")]
    Shape(&'static str),
}

impl Settings<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    fn flag(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Bool(true))
    }

    fn list(&self, name: &str) -> &[Value] {
        self.0.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn map(&self, name: &str) -> impl Iterator<Item = (&String, &str)> {
        self.0.get(name).and_then(Value::as_object).into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_str()?)))
    }

    /// Whether anything is set that changes the kustomization.
    pub(super) fn change_anything(&self) -> bool {
        ["namePrefix", "nameSuffix", "namespace"].iter().any(|name| self.text(name).is_some())
            || ["images", "replicas", "patches", "components"].iter().any(|name| !self.list(name).is_empty())
            || ["commonLabels", "commonAnnotations"].iter().any(|name| self.map(name).next().is_some())
    }

    /// Whether what they come to depends on the revision.
    pub(super) fn depend_on_revision(&self) -> bool {
        ["images", "commonLabels", "commonAnnotations"]
            .iter()
            .filter_map(|name| self.0.get(*name))
            .any(|value| Environment::depends_on_revision(&value.to_string()))
    }

    /// The registered version of Kustomize that is asked for.
    pub(super) fn version(&self) -> Option<&str> {
        self.text("version")
    }

    /// The version of Kubernetes that charts see.
    pub(super) fn kube_version(&self) -> Option<&str> {
        self.text("kubeVersion")
    }

    /// The API versions that charts see.
    pub(super) fn api_versions(&self) -> Vec<&str> {
        self.list("apiVersions").iter().filter_map(Value::as_str).collect()
    }

    /// The components that are added to the kustomization in `folder`: those that exist, where missing ones are ignored.
    pub(super) fn components(&self, tree: &Tree, folder: &str) -> Vec<String> {
        let all = self.list("components").iter().filter_map(Value::as_str);
        let exists = |component: &&str| {
            let path = clean_path(&format!("{folder}/{component}"));
            path.is_some_and(|path| tree.resolve_link(&path).is_ok())
        };
        all.filter(|component| !self.flag("ignoreMissingComponents") || exists(component)).map(str::to_owned).collect()
    }

    /// The files of the patches that are added.
    pub(super) fn patch_files(&self) -> Vec<String> {
        let patches = self.list("patches").iter();
        patches.filter_map(|patch| patch.get("path")?.as_str()).filter(|path| !path.is_empty()).map(str::to_owned).collect()
    }

    /// Applies all of them.
    ///
    /// # Errors
    /// Where Argo CD would generate no manifests.
    ///
    /// Source: Argo CD `util/kustomize/kustomize.go:Build`.
    pub(super) fn apply(
        &self,
        kustomization: &mut Map<String, Value>,
        components: &[String],
        environment: &Environment,
    ) -> Result<(), EditError> {
        for name in ["namePrefix", "nameSuffix"] {
            if let Some(text) = self.text(name) {
                kustomization.insert(name.to_owned(), text.into());
            }
        }
        self.images(kustomization, environment)?;
        self.replicas(kustomization)?;
        self.labels(kustomization, environment)?;
        self.annotations(kustomization, environment)?;
        if let Some(text) = self.text("namespace") {
            kustomization.insert("namespace".to_owned(), text.into());
        }
        if !self.list("patches").is_empty() {
            list_of(kustomization, "patches")?.extend(self.list("patches").iter().cloned());
        }
        if !components.is_empty() {
            let list = list_of(kustomization, "components")?;
            for component in components {
                if !list.iter().any(|known| known == component) {
                    list.push(component.as_str().into());
                }
            }
        }
        Ok(())
    }

    /// Source: kustomize `kustomize/commands/edit/set/setimage.go:RunSetImage`.
    fn images(&self, kustomization: &mut Map<String, Value>, environment: &Environment) -> Result<(), EditError> {
        let texts = self.list("images").iter().filter_map(Value::as_str).map(|text| environment.substitute(text));
        let images = texts.map(|text| Image::parse(&text).ok_or(EditError::Image(text))).collect::<Result<Vec<_>, _>>()?;
        if images.is_empty() {
            return Ok(());
        }
        let list = list_of(kustomization, "images")?;
        for (index, image) in images.iter().enumerate() {
            if images.iter().skip(index + 1).any(|later| later.name == image.name) {
                continue;
            }
            let before = list.iter().position(|known| known.get("name").and_then(Value::as_str) == Some(&image.name));
            let entry = image.entry(before.and_then(|at| list.get(at)));
            match before.and_then(|at| list.get_mut(at)) {
                Some(known) => *known = entry,
                None => list.push(entry),
            }
        }
        sort_by_name(list);
        Ok(())
    }

    /// Source: kustomize `kustomize/commands/edit/set/setreplicas.go:RunSetReplicas`.
    fn replicas(&self, kustomization: &mut Map<String, Value>) -> Result<(), EditError> {
        if self.list("replicas").is_empty() {
            return Ok(());
        }
        let list = list_of(kustomization, "replicas")?;
        for replica in self.list("replicas") {
            let name = replica.get("name").and_then(Value::as_str).unwrap_or_default();
            let count = match replica.get("count") {
                None | Some(Value::Null) => Some(0),
                Some(Value::String(text)) => text.parse::<i64>().ok(),
                Some(count) => count.as_i64(),
            };
            let Some(count) = count else {
                let count = replica.get("count").map(|count| count.as_str().map_or_else(|| count.to_string(), str::to_owned));
                return Err(EditError::Replicas { name: name.to_owned(), count: count.unwrap_or_default() });
            };
            list.retain(|known| known.get("name").and_then(Value::as_str) != Some(name));
            list.push(json!({"name": name, "count": count}));
        }
        sort_by_name(list);
        Ok(())
    }

    /// Source: kustomize `kustomize/commands/edit/add/addmetadata.go:addLabels`.
    fn labels(&self, kustomization: &mut Map<String, Value>, environment: &Environment) -> Result<(), EditError> {
        let labels: Vec<(&String, String)> = self.map("commonLabels").map(|(name, value)| (name, environment.substitute(value))).collect();
        if labels.is_empty() {
            return Ok(());
        }
        let (force, templates) = (self.flag("forceCommonLabels"), self.flag("labelIncludeTemplates"));
        if !self.flag("labelWithoutSelector") {
            if templates {
                return Err(EditError::IncludeTemplates);
            }
            return add(map_of(kustomization, "commonLabels")?, labels, force, "label");
        }
        let list = list_of(kustomization, "labels")?;
        let is_set = |entry: &Value, name: &str| entry.get(name) == Some(&Value::Bool(true));
        let same = |entry: &Value| !is_set(entry, "includeSelectors") && is_set(entry, "includeTemplates") == templates;
        if !list.iter().any(same) {
            list.push(json!({"includeTemplates": templates, "pairs": {}}));
        }
        let Some(Value::Object(entry)) = list.iter_mut().find(|entry| same(entry)) else { return Err(EditError::Shape("labels")) };
        add(map_of(entry, "pairs").map_err(|_| EditError::Shape("labels"))?, labels, force, "label")
    }

    /// Source: kustomize `kustomize/commands/edit/add/addmetadata.go:addAnnotations`.
    fn annotations(&self, kustomization: &mut Map<String, Value>, environment: &Environment) -> Result<(), EditError> {
        let substitutes = self.flag("commonAnnotationsEnvsubst");
        let value = |text: &str| if substitutes { environment.substitute(text) } else { text.to_owned() };
        let annotations: Vec<(&String, String)> = self.map("commonAnnotations").map(|(name, text)| (name, value(text))).collect();
        if annotations.is_empty() {
            return Ok(());
        }
        add(map_of(kustomization, "commonAnnotations")?, annotations, self.flag("forceCommonAnnotations"), "annotation")
    }
}

fn add(map: &mut Map<String, Value>, entries: Vec<(&String, String)>, force: bool, what: &'static str) -> Result<(), EditError> {
    for (name, value) in entries {
        if map.contains_key(name) && !force {
            return Err(EditError::Present { what, name: name.clone() });
        }
        map.insert(name.clone(), value.into());
    }
    Ok(())
}

/// A list of the kustomization; made where there is none.
pub(super) fn list_of<'a>(fields: &'a mut Map<String, Value>, name: &'static str) -> Result<&'a mut Vec<Value>, EditError> {
    let value = fields.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    if value.is_null() {
        *value = Value::Array(Vec::new());
    }
    value.as_array_mut().ok_or(EditError::Shape(name))
}

fn map_of<'a>(fields: &'a mut Map<String, Value>, name: &'static str) -> Result<&'a mut Map<String, Value>, EditError> {
    let value = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().ok_or(EditError::Shape(name))
}

fn sort_by_name(list: &mut [Value]) {
    let name = |entry: &Value| entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    list.sort_by_key(name);
}

/// What an image setting says. `*` keeps what the kustomization has.
#[derive(Debug, PartialEq, Eq)]
struct Image {
    name: String,
    new_name: String,
    tag: String,
    digest: String,
}

impl Image {
    /// Source: kustomize `kustomize/commands/edit/set/setimage.go:parse`, `api/internal/image/image.go:Split`.
    fn parse(text: &str) -> Option<Self> {
        let (key, value) = text.split_once('=').map_or((None, text), |(key, value)| (Some(key), value));
        // A port belongs to the host, which ends at the first slash.
        let path = value.find('/').filter(|at| *at > 0).unwrap_or(0);
        let find = |sign: char| value.get(path..).and_then(|rest| rest.find(sign)).map(|at| at + path);
        let (colon, at) = (find(':'), find('@'));
        let end = colon.filter(|colon| at.is_none_or(|at| *colon < at)).or(at).unwrap_or(value.len());
        let (name, rest) = value.split_at(end);
        let (tag, digest) = rest.split_once('@').unwrap_or((rest, ""));
        let tag = tag.strip_prefix(':').unwrap_or(tag);
        if name == text {
            return None;
        }
        Some(Self {
            name: key.unwrap_or(name).to_owned(),
            new_name: key.map(|_| name).unwrap_or_default().to_owned(),
            tag: tag.to_owned(),
            digest: digest.to_owned(),
        })
    }

    fn entry(&self, before: Option<&Value>) -> Value {
        let mut entry = Map::from_iter([("name".to_owned(), Value::from(self.name.as_str()))]);
        for (field, text) in [("newName", &self.new_name), ("newTag", &self.tag), ("digest", &self.digest)] {
            let kept = before.and_then(|before| before.get(field)).filter(|_| text == "*").cloned();
            let value = kept.or_else(|| (!text.is_empty() && text != "*").then(|| text.as_str().into()));
            entry.extend(value.map(|value| (field.to_owned(), value)));
        }
        Value::Object(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(before: Value, settings: Value) -> Result<Value, EditError> {
        let (Value::Object(mut fields), Value::Object(settings)) = (before, settings) else { unreachable!() };
        let environment = Environment::for_test(&[("ARGOCD_APP_NAME", "web")]);
        let components = strings(&settings, "components");
        Settings(&settings).apply(&mut fields, &components, &environment)?;
        Ok(Value::Object(fields))
    }

    fn strings(settings: &Map<String, Value>, name: &str) -> Vec<String> {
        Settings(settings).list(name).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    #[test]
    fn images_are_replaced_by_name_and_kept_where_a_star_says_so() {
        let image = |text: &str, before: Value| edited(json!({"images": before}), json!({"images": [text]})).unwrap()["images"].clone();
        assert_eq!(image("nginx:1.15.5", json!([])), json!([{"name": "nginx", "newTag": "1.15.5"}]));
        assert_eq!(image("a=host:5000/b:2", json!([])), json!([{"name": "a", "newName": "host:5000/b", "newTag": "2"}]));
        assert_eq!(image("a@sha256:1", json!([])), json!([{"name": "a", "digest": "sha256:1"}]));
        assert_eq!(image("a=b:1@sha256:1", json!([])), json!([{"name": "a", "newName": "b", "newTag": "1", "digest": "sha256:1"}]));
        let before = json!([{"name": "z"}, {"name": "a", "newName": "old", "newTag": "1"}]);
        assert_eq!(image("a:2", before.clone()), json!([{"name": "a", "newTag": "2"}, {"name": "z"}]));
        assert_eq!(image("a=b:*", before), json!([{"name": "a", "newName": "b", "newTag": "1"}, {"name": "z"}]));
        assert_eq!(image("a=b:*", json!([])), json!([{"name": "a", "newName": "b"}]));
        assert_eq!(edited(json!({}), json!({"images": ["nginx"]})), Err(EditError::Image("nginx".to_owned())));
    }

    #[test]
    fn replica_counts_may_be_texts_but_must_be_numbers() {
        let after = edited(
            json!({"replicas": [{"name": "web", "count": 1}]}),
            json!({"replicas": [{"name": "web", "count": "4"}, {"name": "db", "count": 2}]}),
        );
        assert_eq!(after.unwrap()["replicas"], json!([{"name": "db", "count": 2}, {"name": "web", "count": 4}]));
        let error = edited(json!({}), json!({"replicas": [{"name": "web", "count": "many"}]})).unwrap_err();
        assert_eq!(error, EditError::Replicas { name: "web".to_owned(), count: "many".to_owned() });
    }

    #[test]
    fn s10_34_a_label_that_is_there_needs_force() {
        let before = json!({"commonLabels": {"foo": "bar"}});
        let forced = edited(before.clone(), json!({"commonLabels": {"foo": "edited"}, "forceCommonLabels": true})).unwrap();
        assert_eq!(forced["commonLabels"], json!({"foo": "edited"}));
        assert!(matches!(edited(before, json!({"commonLabels": {"foo": "edited"}})), Err(EditError::Present { what: "label", .. })));
    }

    #[test]
    fn s10_35_labels_without_selectors_get_an_entry_of_their_own() {
        let settings = json!({"commonLabels": {"foo": "${ARGOCD_APP_NAME}"}, "labelWithoutSelector": true});
        assert_eq!(edited(json!({}), settings).unwrap()["labels"], json!([{"includeTemplates": false, "pairs": {"foo": "web"}}]));
        let settings = json!({"commonLabels": {"foo": "bar"}, "labelWithoutSelector": true, "labelIncludeTemplates": true});
        let before = json!({"labels": [{"pairs": {"a": "b"}}, {"pairs": {"c": "d"}, "includeTemplates": true}]});
        let after = edited(before, settings).unwrap();
        assert_eq!(after["labels"][1], json!({"pairs": {"c": "d", "foo": "bar"}, "includeTemplates": true}));
        let settings = json!({"commonLabels": {"foo": "bar"}, "labelIncludeTemplates": true});
        assert_eq!(edited(json!({}), settings), Err(EditError::IncludeTemplates));
    }

    #[test]
    fn annotations_are_substituted_only_where_asked() {
        let settings = |on: bool| json!({"commonAnnotations": {"by": "$ARGOCD_APP_NAME"}, "commonAnnotationsEnvsubst": on});
        assert_eq!(edited(json!({}), settings(false)).unwrap()["commonAnnotations"]["by"], "$ARGOCD_APP_NAME");
        assert_eq!(edited(json!({}), settings(true)).unwrap()["commonAnnotations"]["by"], "web");
    }

    #[test]
    fn patches_and_components_are_appended() {
        let before = json!({"patches": [{"path": "a.yaml"}], "components": ["../c"]});
        let after = edited(before, json!({"patches": [{"patch": "x"}], "components": ["../c", "../d"], "namespace": "n"})).unwrap();
        assert_eq!(after, json!({"patches": [{"path": "a.yaml"}, {"patch": "x"}], "components": ["../c", "../d"], "namespace": "n"}));
        assert_eq!(edited(json!({"patches": {}}), json!({"patches": [{"patch": "x"}]})), Err(EditError::Shape("patches")));
    }
}
