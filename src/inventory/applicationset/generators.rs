//! Evaluates generators to sets of parameters, and renders the Applications.
//!
//! Source: Argo CD `applicationset/generators` and `controllers/template/template.go`.

mod combine;
mod files;

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value as Json;

use super::clusters::{Cluster, Clusters};
use super::params::{self, Dict, Params, Value};
use super::render::{Renderer, put_values};
use super::{Generated, Stop, Surroundings, decisions, patch, selector, template};
use crate::argocd::ApplicationSet;
use crate::argocd::applicationset::{ClusterGenerator, DecisionGenerator, Generator, ListGenerator, Template};
use crate::argocd::names::{IN_CLUSTER_NAME, IN_CLUSTER_SERVER};
use crate::argocd::selector::LabelSelector;

/// Sets of parameters that one set may have.
const LIMIT: usize = 100_000;

/// A set while it is expanded.
pub(super) struct Generators<'a> {
    set: &'a ApplicationSet,
    surroundings: &'a Surroundings<'a>,
    renderer: Renderer,
}

/// Where a generator stands, for messages.
fn at(path: &str, kind: &str) -> String {
    format!("generator {path}.{kind}")
}

impl<'a> Generators<'a> {
    /// A set that is about to be expanded.
    pub(super) fn new(set: &'a ApplicationSet, surroundings: &'a Surroundings<'a>) -> Result<Self, Stop> {
        Ok(Self { set, surroundings, renderer: Renderer::new(&set.spec)? })
    }

    /// All Applications.
    pub(super) fn applications(&self) -> Result<Vec<Generated>, Stop> {
        let mut generated = Vec::new();
        let mut failure: Option<Stop> = None;
        for (index, generator) in self.set.spec.generators.iter().enumerate() {
            let path = format!("generators[{index}]");
            for (kind, own) in templates(generator) {
                let result = self.of_kind(generator, kind, &path).and_then(|params| {
                    let merged = template::merged(own, &self.set.spec.template);
                    params.iter().map(|params| self.application(&merged, params)).collect::<Result<Vec<_>, _>>()
                });
                match result {
                    Ok(applications) => generated.extend(applications),
                    // An error anywhere stops all, but what presync cannot judge may hide one.
                    Err(stop @ Stop::Unjudged { .. }) => return Err(stop),
                    Err(stop) => failure = failure.or(Some(stop)),
                }
            }
        }
        failure.map_or(Ok(generated), Err)
    }

    /// The parameters of one kind of a top-level entry, after its selector.
    fn of_kind(&self, generator: &Generator, kind: &'static str, path: &str) -> Result<Vec<Params>, Stop> {
        let params = self.parameters(generator, kind, path)?;
        select(generator.selector.as_ref(), params)
    }

    /// The parameters of a generator inside of a matrix or merge. With `outer`, its texts are templates over those.
    fn child(&self, generator: &Generator, outer: Option<&Params>, path: &str) -> Result<Vec<Params>, Stop> {
        let kinds = generator.kinds();
        let [kind] = kinds.as_slice() else {
            return Err(Stop::fails(match kinds.len() {
                0 => "child generator generated no parameters".to_owned(),
                _ => "found more than one generator in matrix.Generators or merge.Generators".to_owned(),
            }));
        };
        let rendered = match outer {
            Some(outer) if !outer.entries.borrow().is_empty() => Some(self.rendered(generator, outer)?),
            _ => None,
        };
        let params = self.parameters(rendered.as_ref().unwrap_or(generator), kind, path)?;
        select(generator.selector.as_ref(), params)
    }

    /// A generator with its texts rendered.
    fn rendered(&self, generator: &Generator, outer: &Params) -> Result<Generator, Stop> {
        let values: Option<BTreeMap<String, String>> = generator
            .clusters
            .as_ref()
            .map(|clusters| &clusters.values)
            .or_else(|| generator.git.as_ref().map(|git| &git.values))
            .or_else(|| generator.cluster_decision_resource.as_ref().map(|decision| &decision.values))
            .map(|values| self.renderer.values_ahead(values, outer))
            .transpose()?;
        let mut bare = generator.clone();
        bare.selector = None;
        if let Some(clusters) = &mut bare.clusters {
            clusters.values.clear();
        }
        if let Some(git) = &mut bare.git {
            git.values.clear();
        }
        if let Some(decision) = &mut bare.cluster_decision_resource {
            decision.values.clear();
        }
        let unreadable = |error: serde_json::Error| Stop::fails(format!("failed to replace parameters in generator: {error}"));
        let json = serde_json::to_value(&bare).map_err(unreadable)?;
        let mut rendered: Generator = serde_json::from_value(self.renderer.deep(&json, outer)?).map_err(unreadable)?;
        let values = values.unwrap_or_default();
        if let Some(clusters) = &mut rendered.clusters {
            clusters.values = values;
        } else if let Some(git) = &mut rendered.git {
            git.values = values;
        } else if let Some(decision) = &mut rendered.cluster_decision_resource {
            decision.values = values;
        }
        Ok(rendered)
    }

    fn parameters(&self, generator: &Generator, kind: &str, path: &str) -> Result<Vec<Params>, Stop> {
        let external = |why: &str| Stop::Unjudged { what: at(path, kind), why: why.to_owned() };
        let params = match (generator, kind) {
            (Generator { list: Some(list), .. }, "list") => self.list(list),
            (Generator { clusters: Some(clusters), .. }, "clusters") => self.clusters(clusters, path),
            (Generator { git: Some(git), .. }, "git") => self.git(git, path),
            (Generator { cluster_decision_resource: Some(decision), .. }, "clusterDecisionResource") => self.decisions(decision, path),
            (Generator { matrix: Some(matrix), .. }, "matrix") => self.matrix(matrix, path),
            (Generator { merge: Some(merge), .. }, "merge") => self.merge(merge, path),
            (_, "plugin") => Err(external("it asks a program, which presync never does")),
            (_, "scmProvider") => Err(external("it asks the hoster of repositories over the network")),
            (_, "pullRequest") => Err(external("it asks for open pull requests over the network")),
            _ => Ok(Vec::new()),
        }?;
        if params.len() > LIMIT {
            return Err(Stop::Unjudged { what: at(path, kind), why: format!("it gives more than {LIMIT} sets of parameters") });
        }
        Ok(params)
    }

    /// Source: Argo CD `applicationset/generators/list.go:GenerateParams`.
    fn list(&self, list: &ListGenerator) -> Result<Vec<Params>, Stop> {
        let not_text = || Stop::fails("error parsing value as string");
        let mut found = Vec::new();
        for element in &list.elements {
            let fields = match element {
                Json::Object(fields) => fields,
                Json::Null => {
                    found.push(Params::default());
                    continue;
                }
                _ => return Err(Stop::fails("error unmarshling list element: it is no map")),
            };
            if self.renderer.go {
                found.push(Dict::of(params::entries_of_json(fields)));
                continue;
            }
            let mut entries = BTreeMap::new();
            for (key, value) in fields {
                if key == "values" {
                    let values = value.as_object().ok_or_else(|| Stop::fails("error parsing values map"))?;
                    for (name, value) in values {
                        entries.insert(format!("values.{name}").into(), Value::text(value.as_str().ok_or_else(not_text)?));
                    }
                } else {
                    entries.insert(key.as_str().into(), Value::text(value.as_str().ok_or_else(not_text)?));
                }
            }
            found.push(Dict::of(entries));
        }
        if !list.elements_yaml.is_empty() {
            found.extend(
                files::list_of_maps(&list.elements_yaml)
                    .map_err(|error| Stop::fails(format!("error unmarshling decoded ElementsYaml {error}")))?,
            );
        }
        Ok(found)
    }

    /// Source: Argo CD `applicationset/generators/cluster.go:GenerateParams`.
    fn clusters(&self, generator: &ClusterGenerator, path: &str) -> Result<Vec<Params>, Stop> {
        let clusters = match self.surroundings.clusters {
            Clusters::Known(clusters) => clusters,
            Clusters::Unknown(why) => return Err(Stop::Unjudged { what: at(path, "clusters"), why: why.clone() }),
        };
        let mut chosen: Vec<&Cluster> = Vec::new();
        for cluster in clusters {
            if selector::selects(&generator.selector, &cluster.labels).map_err(Stop::Fails)? {
                chosen.push(cluster);
            }
        }
        let mut found = Vec::new();
        for cluster in &chosen {
            let params = self.cluster(cluster);
            self.renderer.add_values(&generator.values, &params)?;
            found.push(params);
        }
        if generator.selector.is_empty() && !chosen.iter().any(|cluster| cluster.is_local()) {
            let text = |key: &str, value: &str| (key.into(), Value::text(value));
            let params = Dict::of(BTreeMap::from([
                text("name", IN_CLUSTER_NAME),
                text("nameNormalized", IN_CLUSTER_NAME),
                text("server", IN_CLUSTER_SERVER),
                text("project", ""),
            ]));
            self.renderer.add_values(&generator.values, &params)?;
            found.push(params);
        }
        if generator.flat_list {
            let all = Value::List(Rc::new(found.into_iter().map(Value::Map).collect()));
            found = vec![Dict::of(BTreeMap::from([("clusters".into(), all)]))];
        }
        Ok(found)
    }

    fn cluster(&self, cluster: &Cluster) -> Params {
        let mut entries: BTreeMap<Rc<str>, Value> = BTreeMap::from([
            ("name".into(), Value::text(&cluster.name)),
            ("nameNormalized".into(), Value::text(&super::gotemplate::sanitize_name(&cluster.name))),
            ("server".into(), Value::text(&cluster.server)),
            ("project".into(), Value::text(&cluster.project)),
        ]);
        if self.renderer.go {
            let mut metadata = BTreeMap::new();
            for (name, texts) in [("annotations", &cluster.annotations), ("labels", &cluster.labels)] {
                if !texts.is_empty() {
                    metadata.insert(name.into(), Value::Map(Dict::of_texts(texts)));
                }
            }
            entries.insert("metadata".into(), Value::Map(Dict::of(metadata)));
        } else {
            for (name, texts) in [("annotations", &cluster.annotations), ("labels", &cluster.labels)] {
                entries.extend(texts.iter().map(|(key, value)| (format!("metadata.{name}.{key}").into(), Value::text(value))));
            }
        }
        Dict::of(entries)
    }

    /// Source: Argo CD `applicationset/generators/duck_type.go:GenerateParams`; values are no templates here.
    fn decisions(&self, generator: &DecisionGenerator, path: &str) -> Result<Vec<Params>, Stop> {
        let unjudged = |why: String| Stop::Unjudged { what: at(path, "clusterDecisionResource"), why };
        let Some(live) = self.surroundings.live else {
            return Err(unjudged("it reads objects of the cluster, and there is no snapshot".to_owned()));
        };
        let clusters = match self.surroundings.clusters {
            Clusters::Known(clusters) => clusters,
            Clusters::Unknown(why) => return Err(unjudged(why.clone())),
        };
        let mut found = Vec::new();
        for decision in decisions::decisions(generator, live, self.surroundings.control_namespace).map_err(|problem| match problem {
            decisions::Problem::Fails(message) => Stop::Fails(message),
            decisions::Problem::NotCaptured(why) => unjudged(why),
        })? {
            let (name, server) = if decision.cluster == IN_CLUSTER_NAME && !clusters.iter().any(Cluster::is_local) {
                (IN_CLUSTER_NAME, IN_CLUSTER_SERVER)
            } else {
                match clusters.iter().find(|cluster| cluster.name == decision.cluster) {
                    Some(cluster) => (cluster.name.as_str(), cluster.server.as_str()),
                    None => continue,
                }
            };
            let mut entries: BTreeMap<Rc<str>, Value> =
                BTreeMap::from([("name".into(), Value::text(name)), ("server".into(), Value::text(server))]);
            entries.extend(decision.fields.iter().map(|(key, value)| (key.as_str().into(), Value::text(&Value::of_json(value).print()))));
            let params = Dict::of(entries);
            put_values(self.renderer.go, &generator.values, &params);
            found.push(params);
        }
        Ok(found)
    }

    /// Source: Argo CD `applicationset/utils/utils.go:RenderTemplateParams` and `controllers/template/patch.go:applyTemplatePatch`.
    fn application(&self, merged: &Template, params: &Params) -> Result<Generated, Stop> {
        let bare = template::application(merged);
        let mut object = if params.entries.borrow().is_empty() {
            bare
        } else {
            let mut object = self.renderer.deep(&bare, params)?;
            template::add_finalizer(&mut object, self.set.spec.sync_policy.preserve_resources_on_deletion);
            object
        };
        if let Some(text) = &self.set.spec.template_patch {
            let text = self.renderer.text(text, params)?;
            object = patch::apply(object, &text).map_err(Stop::Fails)?;
        }
        template::place(&mut object, &self.set.id.namespace);
        Ok(Generated { object, parameters: Value::Map(Rc::clone(params)).to_json() })
    }
}

/// The kinds of an entry with their templates.
fn templates(generator: &Generator) -> Vec<(&'static str, Option<&Template>)> {
    let of = |kind: &str| match kind {
        "list" => generator.list.as_ref().map(|list| &list.template),
        "clusters" => generator.clusters.as_ref().map(|clusters| &clusters.template),
        "git" => generator.git.as_ref().map(|git| &git.template),
        "clusterDecisionResource" => generator.cluster_decision_resource.as_ref().map(|decision| &decision.template),
        "matrix" => generator.matrix.as_ref().map(|matrix| &matrix.template),
        "merge" => generator.merge.as_ref().map(|merge| &merge.template),
        _ => None,
    };
    generator.kinds().into_iter().map(|kind| (kind, of(kind))).collect()
}

/// Keeps the parameters that a selector selects.
fn select(selector: Option<&LabelSelector>, params: Vec<Params>) -> Result<Vec<Params>, Stop> {
    let Some(selector) = selector else { return Ok(params) };
    let mut kept = Vec::new();
    for one in params {
        let selected = selector::selects(selector, &params::flatten(&one));
        if selected.map_err(|error| Stop::fails(format!("error parsing label selector: {error}")))? {
            kept.push(one);
        }
    }
    // An invalid selector fails even where nothing is there to select from.
    if kept.is_empty() {
        selector::selects(selector, &BTreeMap::new()).map_err(|error| Stop::fails(format!("error parsing label selector: {error}")))?;
    }
    Ok(kept)
}

/// The templates that an entry brings along.
pub(super) fn own_templates(generator: &Generator) -> Vec<&Template> {
    templates(generator).into_iter().filter_map(|(_, own)| own).collect()
}
