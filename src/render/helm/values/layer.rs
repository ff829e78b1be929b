//! One source of values: a file, the values of an Application, a single parameter.

use serde_json::{Map, Value};

use super::SetAt;
use crate::manifest::pointer::{escape, list_position};
use crate::render::helm::template::ValuePath;

/// Values that are put over those of the layers below.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// Under which names the values stand.
    prefix: ValuePath,
    value: Value,
    at: SetAt,
    /// Whether it is one value, whose place is the same whatever is asked for.
    is_single: bool,
}

/// What a layer says about a value.
pub(super) enum Look<'l> {
    /// Nothing.
    Absent,
    /// It sets it; null takes it away.
    Found(&'l Value),
    /// It puts something else in the place of a map that would hold it, which has so many names.
    Cut(usize),
}

impl Layer {
    /// The values of a file or a block.
    pub(super) fn of_values(value: Value, at: SetAt) -> Self {
        Self { prefix: ValuePath::new(), value, at, is_single: false }
    }

    /// The same values as those of a chart that has this place among its parents' values.
    pub(super) fn under(self, prefix: &[String]) -> Self {
        Self { prefix: prefix.to_vec(), ..self }
    }

    /// One parameter, whose name is a path.
    ///
    /// Source: Helm `pkg/strvals/parser.go`.
    pub(super) fn of_parameter(name: &str, value: &str, is_text: bool, at: SetAt) -> Self {
        let typed = match value {
            _ if is_text => Value::from(value),
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => value.parse::<i64>().map_or_else(|_| Value::from(value), Value::from),
        };
        let path = path_of(name);
        let value = path.into_iter().rev().fold(typed, |value, name| Value::Object(Map::from_iter([(name, value)])));
        Self { prefix: ValuePath::new(), value, at, is_single: true }
    }

    /// What it says about a value.
    pub(super) fn look(&self, path: &[String]) -> Look<'_> {
        let Some(rest) = path.strip_prefix(self.prefix.as_slice()) else { return Look::Absent };
        let mut value = &self.value;
        for (depth, name) in rest.iter().enumerate() {
            let below = match value {
                Value::Object(fields) => fields.get(name),
                Value::Array(items) => list_position(name).and_then(|position| items.get(position)),
                _ => return Look::Cut(self.prefix.len() + depth),
            };
            match below {
                Some(below) => value = below,
                // A list takes the place of the whole list below it.
                None if value.is_array() => return Look::Cut(self.prefix.len() + depth),
                None => return Look::Absent,
            }
        }
        Look::Found(value)
    }

    /// The place that sets a value of which it says something.
    pub(super) fn place(&self, path: &[String]) -> SetAt {
        if self.is_single {
            return self.at.clone();
        }
        let depth = match self.look(path) {
            Look::Cut(depth) => depth,
            _ => path.len(),
        };
        let names = path.iter().take(depth).skip(self.prefix.len());
        let below: String = names.map(|name| format!("/{}", escape(name))).collect();
        match &self.at {
            SetAt::File(origin, pointer) => SetAt::File(origin.clone(), pointer.clone() + &below),
            SetAt::Source(pointer) => SetAt::Source(pointer.clone() + &below),
            SetAt::Text(pointer) => SetAt::Text(pointer.clone() + &below),
            SetAt::Elsewhere => SetAt::Elsewhere,
        }
    }
}

/// Puts values over others, as helm does: maps are merged, null takes away, all else takes the place.
pub(super) fn merge(below: &mut Value, over: &Value) {
    match (below, over) {
        (Value::Object(below), Value::Object(over)) => {
            for (name, value) in over {
                match below.get_mut(name) {
                    _ if value.is_null() => drop(below.remove(name)),
                    Some(known) => merge(known, value),
                    None => drop(below.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::Array(items), Value::Object(over)) if over.keys().all(|name| list_position(name).is_some()) => {
            for (name, value) in over {
                if let Some(item) = list_position(name).and_then(|position| items.get_mut(position)) {
                    merge(item, value);
                }
            }
        }
        (below, over) => *below = over.clone(),
    }
}

/// The names in `a.b\.c[0]`.
fn path_of(name: &str) -> ValuePath {
    let (mut path, mut current) = (ValuePath::new(), String::new());
    let mut characters = name.chars();
    while let Some(one) = characters.next() {
        match one {
            '\\' => current.extend(characters.next()),
            '.' | '[' => path.push(std::mem::take(&mut current)),
            ']' => {}
            _ => current.push(one),
        }
    }
    path.push(current);
    path.retain(|name| !name.is_empty());
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_of_parameters_are_paths() {
        assert_eq!(path_of("a.b\\.c[0].d"), ["a", "b.c", "0", "d"]);
        assert_eq!(path_of("list[1]"), ["list", "1"]);
    }

    #[test]
    fn what_is_put_over_values_wins_and_null_takes_away() {
        let mut values = json!({"a": {"b": 1, "c": 2}, "list": [1, {"x": 1}], "gone": 1});
        merge(&mut values, &json!({"a": {"b": 3}, "list": {"1": {"x": 2}}, "gone": null, "new": 1}));
        assert_eq!(values, json!({"a": {"b": 3, "c": 2}, "list": [1, {"x": 2}], "new": 1}));
        merge(&mut values, &json!({"a": 1, "list": []}));
        assert_eq!(values, json!({"a": 1, "list": [], "new": 1}));
    }
}
