//! Random objects of built-in kinds, made from the table of types: fields at random, keys of merged lists unique, quantities in any notation.

use serde_json::{Map, Value, json};

use crate::plan::schema::{Field, ListMerge, Node, Schemas, Shape};

/// Kinds that people write most, and those with odd rules.
pub(super) const KINDS: &[(&str, &str)] = &[
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Pod"),
    ("v1", "LimitRange"),
    ("v1", "ResourceQuota"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("networking.k8s.io/v1", "Ingress"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
];

/// Quantities in the notations that people use.
const QUANTITIES: [&str; 9] = ["1", "1000m", "0.5", "500m", "1Gi", "1024Mi", "1.5Gi", "100M", "2e3"];

/// A small generator of numbers, so that a seed gives the same object.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap_or(1)).unwrap_or_default()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// An object of a kind.
    pub(super) fn object(&mut self, api_version: &str, kind: &str) -> Value {
        let mut object = json!({"apiVersion": api_version, "kind": kind});
        let node = Schemas::builtin().scheme_type(&object).expect("a built-in kind");
        let mut fields = self.fields(node, 7, |name| !matches!(name, "apiVersion" | "kind" | "metadata" | "status"));
        if let (Value::Object(object), Value::Object(fields)) = (&mut object, &mut fields) {
            object.append(fields);
        }
        object["metadata"] = json!({"name": "x", "namespace": "ns", "labels": self.words(), "annotations": self.words()});
        object
    }

    fn words(&mut self) -> Value {
        let count = self.below(3);
        (0..count).map(|number| (format!("key{number}"), Value::from(self.word()))).collect::<Map<_, _>>().into()
    }

    fn word(&mut self) -> &'static str {
        ["a", "b", "web", "True", "10", ""][self.below(6)]
    }

    fn fields(&mut self, node: Node<'static>, depth: usize, wanted: impl Fn(&str) -> bool) -> Value {
        let Some(own) = node.as_struct() else { return json!({}) };
        let mut names: Vec<&String> = own.fields.keys().filter(|name| wanted(name)).collect();
        names.sort();
        let mut map = Map::new();
        for name in names {
            let always = matches!(name.as_str(), "spec" | "template" | "containers" | "data" | "rules" | "ports" | "resources");
            if depth > 0 && (always || self.one_in(4)) {
                let (field, inner) = node.field(name).expect("it has the field");
                map.insert(name.clone(), self.value(field, inner, depth - 1));
            }
        }
        Value::Object(map)
    }

    fn value(&mut self, field: &Field, node: Node<'static>, depth: usize) -> Value {
        let Shape::List(_) = node.shape() else { return self.plain(node, depth) };
        let Some(element) = node.element() else { return json!([]) };
        let count = self.below(3);
        let mut keys: Vec<&str> = field.patch.key.as_deref().into_iter().collect();
        if let ListMerge::Map(names) = &field.list {
            keys.extend(names.iter().map(String::as_str));
        }
        let items = (0..count).map(|number| {
            let mut item = self.plain(element, depth);
            if let Value::Object(map) = &mut item {
                for key in &keys {
                    let shape = element.field(key).map(|(_, inner)| inner.shape());
                    let unique = if matches!(shape, Some(Shape::Integer)) { json!(8000 + number) } else { json!(format!("k{number}")) };
                    map.insert((*key).to_owned(), unique);
                }
            } else if item.is_string() && (field.patch.merge || field.list == ListMerge::Set) {
                item = json!(format!("k{number}"));
            }
            item
        });
        Value::Array(items.collect())
    }

    fn plain(&mut self, node: Node<'static>, depth: usize) -> Value {
        match node.shape() {
            Shape::String => json!(self.word()),
            Shape::Integer | Shape::Number => json!(self.below(4)),
            Shape::Boolean => json!(self.one_in(2)),
            Shape::Quantity if self.one_in(4) => json!(0.25),
            Shape::Quantity => json!(QUANTITIES[self.below(QUANTITIES.len())]),
            Shape::IntOrString if self.one_in(2) => json!("25%"),
            Shape::IntOrString => json!(self.below(3)),
            Shape::Time => json!("2026-01-01T00:00:00Z"),
            Shape::Bytes => json!("YQ=="),
            Shape::Any => json!({}),
            Shape::List(_) => json!([]),
            Shape::Map(_) => {
                let count = self.below(3);
                let element = node.element().expect("a map has values");
                (0..count)
                    .map(|number| (format!("key{number}"), self.plain(element, depth.saturating_sub(1))))
                    .collect::<Map<_, _>>()
                    .into()
            }
            Shape::Struct(_) => self.fields(node, depth, |_| true),
        }
    }
}
