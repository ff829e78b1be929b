//! The functions that templates may call, with the types of their arguments as Go checks them.
//!
//! Source: Go `text/template/funcs.go`, Masterminds/sprig `functions.go` and Argo CD `applicationset/utils/template_functions.go`.

mod collections;
mod encoding;
mod numbers;
mod slug;
mod texts;

use std::rc::Rc;

use super::{TemplateError, builtins};
use crate::inventory::applicationset::params::{Dict, Value};

pub(in crate::inventory::applicationset) use slug::sanitize_name;
pub(in crate::inventory::applicationset) use texts::base_of;

/// A function with its signature: a letter for each argument (`a` anything, `s` text, `i` int, `b` bool, `m` map of anything), and `*` where the
/// last one may come any number of times.
pub(super) struct Function {
    name: &'static str,
    signature: &'static str,
    body: fn(&Arguments) -> Result<Value, TemplateError>,
}

/// Checked arguments.
pub(super) struct Arguments {
    name: &'static str,
    values: Vec<Value>,
}

impl Function {
    /// Checks the arguments and calls the function.
    ///
    /// Source: Go `text/template/exec.go:evalCall` and `validateType`.
    pub(super) fn call(&self, values: Vec<Value>) -> Result<Value, TemplateError> {
        let (fixed, variadic) = match self.signature.strip_suffix('*') {
            Some(signature) => (signature.len() - 1, signature.chars().last()),
            None => (self.signature.len(), None),
        };
        let count = values.len();
        if count < fixed || (variadic.is_none() && count > fixed) {
            let least = if variadic.is_some() { "at least " } else { "" };
            return Err(TemplateError::fails(format!("wrong number of args for {}: want {least}{fixed} got {count}", self.name)));
        }
        let kinds = self.signature.chars().take(fixed).chain(variadic.into_iter().cycle());
        for (kind, value) in kinds.zip(&values) {
            check(kind, value)?;
        }
        (self.body)(&Arguments { name: self.name, values })
    }
}

fn check(kind: char, value: &Value) -> Result<(), TemplateError> {
    let fits = match kind {
        's' => matches!(value, Value::Text(_)),
        'i' => matches!(value, Value::Int(_)),
        'b' => matches!(value, Value::Bool(_)),
        'm' => matches!(value, Value::Map(map) if !map.texts) || matches!(value, Value::Missing),
        _ => true,
    };
    if fits {
        return Ok(());
    }
    let expected = match kind {
        's' => "string",
        'i' => "int",
        'b' => "bool",
        _ => "map[string]interface {}",
    };
    Err(TemplateError::fails(match value {
        Value::Missing => format!("invalid value; expected {expected}"),
        other => format!("wrong type for value; expected {expected}; got {}", other.type_name()),
    }))
}

impl Arguments {
    /// An argument; `nil` where there is none.
    pub(super) fn any(&self, index: usize) -> Value {
        self.values.get(index).cloned().unwrap_or(Value::Nil)
    }

    /// The arguments from one on.
    pub(super) fn rest(&self, from: usize) -> &[Value] {
        self.values.get(from..).unwrap_or_default()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.values.len()
    }

    /// A text.
    pub(super) fn text(&self, index: usize) -> Result<Rc<str>, TemplateError> {
        match self.values.get(index) {
            Some(Value::Text(text)) => Ok(Rc::clone(text)),
            other => Err(self.wrong("string", other)),
        }
    }

    /// An `int`.
    pub(super) fn int(&self, index: usize) -> Result<i64, TemplateError> {
        match self.values.get(index) {
            Some(Value::Int(number)) => Ok(*number),
            other => Err(self.wrong("int", other)),
        }
    }

    /// A map of anything; a missing one is empty.
    pub(super) fn map(&self, index: usize) -> Result<Rc<Dict>, TemplateError> {
        match self.values.get(index) {
            Some(Value::Map(map)) if !map.texts => Ok(Rc::clone(map)),
            Some(Value::Missing) => Ok(Rc::new(Dict::default())),
            other => Err(self.wrong("map[string]interface {}", other)),
        }
    }

    /// A list.
    pub(super) fn list(&self, index: usize) -> Result<Rc<Vec<Value>>, TemplateError> {
        match self.values.get(index) {
            Some(Value::List(items)) => Ok(Rc::clone(items)),
            other => {
                let kind = other.map_or("nil", Value::type_name);
                Err(TemplateError::fails(format!("error calling {}: Cannot work on type {kind}", self.name)))
            }
        }
    }

    /// Fails as the function of that name does.
    pub(super) fn error(&self, message: impl std::fmt::Display) -> TemplateError {
        TemplateError::fails(format!("error calling {}: {message}", self.name))
    }

    fn wrong(&self, expected: &str, found: Option<&Value>) -> TemplateError {
        let found = found.map_or("nil", Value::type_name);
        TemplateError::fails(format!("error calling {}: interface conversion: {found} is not {expected}", self.name))
    }
}

/// Functions that give something else each time.
pub(super) const NOT_DETERMINISTIC: &[&str] = &[
    "ago",
    "bcrypt",
    "buildCustomCert",
    "date",
    "dateInZone",
    "dateModify",
    "date_in_zone",
    "date_modify",
    "decryptAES",
    "derivePassword",
    "encryptAES",
    "genCA",
    "genCAWithKey",
    "genPrivateKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "htmlDate",
    "htmlDateInZone",
    "htpasswd",
    "mustDateModify",
    "must_date_modify",
    "now",
    "randAlpha",
    "randAlphaNum",
    "randAscii",
    "randBytes",
    "randInt",
    "randNumeric",
    "shuffle",
    "uuidv4",
];

/// Functions that Argo CD has and presync does not.
pub(super) const NOT_EVALUATED: &[&str] = &[
    "abbrevboth",
    "add1f",
    "addf",
    "b32dec",
    "b32enc",
    "chunk",
    "divf",
    "duration",
    "durationRound",
    "initials",
    "maxf",
    "minf",
    "mulf",
    "mustChunk",
    "mustToDate",
    "sha512sum",
    "subf",
    "swapcase",
    "toDate",
    "toDecimal",
    "unixEpoch",
    "untitle",
    "urlJoin",
    "urlParse",
    "wrap",
    "wrapWith",
    "call",
];

/// A function by its name.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.binary_search_by(|function| function.name.cmp(name)).ok().and_then(|index| FUNCTIONS.get(index))
}

macro_rules! functions {
    ($($name:literal $signature:literal $body:expr;)*) => {
        /// All functions, sorted by name.
        const FUNCTIONS: &[Function] = &[$(Function { name: $name, signature: $signature, body: $body }),*];
    };
}

functions! {
    "abbrev" "is" texts::abbrev;
    "add" "a*" numbers::add;
    "add1" "a" numbers::add1;
    "adler32sum" "s" encoding::adler32sum;
    "all" "a*" collections::all;
    "any" "a*" collections::any;
    "append" "aa" collections::append;
    "atoi" "s" numbers::atoi;
    "b64dec" "s" encoding::b64dec;
    "b64enc" "s" encoding::b64enc;
    "base" "s" texts::base;
    "biggest" "aa*" numbers::max;
    "camelcase" "s" texts::camelcase;
    "cat" "a*" texts::cat;
    "ceil" "a" numbers::ceil;
    "clean" "s" texts::clean;
    "coalesce" "a*" collections::coalesce;
    "compact" "a" collections::compact;
    "concat" "a*" collections::concat;
    "contains" "ss" texts::contains;
    "deepCopy" "a" collections::deep_copy;
    "deepEqual" "aa" collections::deep_equal;
    "default" "aa*" collections::default;
    "dict" "a*" collections::dict;
    "dig" "a*" collections::dig;
    "dir" "s" texts::dir;
    "div" "aa" numbers::div;
    "empty" "a" collections::empty;
    "eq" "aa*" builtins::eq;
    "ext" "s" texts::ext;
    "fail" "s" texts::fail;
    "first" "a" collections::first;
    "float64" "a" numbers::float64;
    "floor" "a" numbers::floor;
    "fromJson" "s" encoding::from_json;
    "fromYaml" "s" encoding::from_yaml;
    "fromYamlArray" "s" encoding::from_yaml_array;
    "ge" "aa" builtins::ge;
    "get" "ms" collections::get;
    "gt" "aa" builtins::gt;
    "has" "aa" collections::has;
    "hasKey" "ms" collections::has_key;
    "hasPrefix" "ss" texts::has_prefix;
    "hasSuffix" "ss" texts::has_suffix;
    "hello" "" texts::hello;
    "html" "a*" builtins::html;
    "indent" "is" texts::indent;
    "index" "aa*" builtins::index;
    "initial" "a" collections::initial;
    "int" "a" numbers::int;
    "int64" "a" numbers::int64;
    "isAbs" "s" texts::is_abs;
    "join" "sa" collections::join;
    "js" "a*" builtins::js;
    "kebabcase" "s" texts::kebabcase;
    "keys" "m*" collections::keys;
    "kindIs" "sa" collections::kind_is;
    "kindOf" "a" collections::kind_of;
    "last" "a" collections::last;
    "le" "aa" builtins::le;
    "len" "a" builtins::len;
    "list" "a*" collections::list;
    "lower" "s" texts::lower;
    "lt" "aa" builtins::lt;
    "max" "aa*" numbers::max;
    "merge" "mm*" collections::merge;
    "mergeOverwrite" "mm*" collections::merge_overwrite;
    "min" "aa*" numbers::min;
    "mod" "aa" numbers::modulo;
    "mul" "aa*" numbers::mul;
    "mustAppend" "aa" collections::append;
    "mustCompact" "a" collections::compact;
    "mustDeepCopy" "a" collections::deep_copy;
    "mustFirst" "a" collections::first;
    "mustFromJson" "s" encoding::must_from_json;
    "mustHas" "aa" collections::has;
    "mustInitial" "a" collections::initial;
    "mustLast" "a" collections::last;
    "mustMerge" "mm*" collections::merge;
    "mustMergeOverwrite" "mm*" collections::merge_overwrite;
    "mustPrepend" "aa" collections::prepend;
    "mustPush" "aa" collections::append;
    "mustRegexFind" "ss" encoding::must_regex_find;
    "mustRegexFindAll" "ssi" encoding::regex_find_all;
    "mustRegexMatch" "ss" encoding::must_regex_match;
    "mustRegexReplaceAll" "sss" encoding::regex_replace_all;
    "mustRegexReplaceAllLiteral" "sss" encoding::regex_replace_all_literal;
    "mustRegexSplit" "ssi" encoding::regex_split;
    "mustRest" "a" collections::rest;
    "mustReverse" "a" collections::reverse;
    "mustSlice" "aa*" collections::slice;
    "mustToJson" "a" encoding::to_json;
    "mustToPrettyJson" "a" encoding::to_pretty_json;
    "mustToRawJson" "a" encoding::to_raw_json;
    "mustUniq" "a" collections::uniq;
    "mustWithout" "aa*" collections::without;
    "ne" "aa" builtins::ne;
    "nindent" "is" texts::nindent;
    "normalize" "s" slug::normalize;
    "nospace" "s" texts::nospace;
    "not" "a" builtins::not;
    "omit" "ms*" collections::omit;
    "osBase" "s" texts::base;
    "osClean" "s" texts::clean;
    "osDir" "s" texts::dir;
    "osExt" "s" texts::ext;
    "osIsAbs" "s" texts::is_abs;
    "pick" "ms*" collections::pick;
    "pluck" "sm*" collections::pluck;
    "plural" "ssi" texts::plural;
    "prepend" "aa" collections::prepend;
    "print" "a*" builtins::print;
    "printf" "sa*" builtins::printf;
    "println" "a*" builtins::println;
    "push" "aa" collections::append;
    "quote" "a*" texts::quote;
    "regexFind" "ss" encoding::regex_find;
    "regexFindAll" "ssi" encoding::regex_find_all;
    "regexMatch" "ss" encoding::regex_match;
    "regexQuoteMeta" "s" encoding::regex_quote_meta;
    "regexReplaceAll" "sss" encoding::regex_replace_all;
    "regexReplaceAllLiteral" "sss" encoding::regex_replace_all_literal;
    "regexSplit" "ssi" encoding::regex_split;
    "repeat" "is" texts::repeat;
    "replace" "sss" texts::replace;
    "rest" "a" collections::rest;
    "reverse" "a" collections::reverse;
    "round" "aia*" numbers::round;
    "semver" "s" encoding::semver;
    "semverCompare" "ss" encoding::semver_compare;
    "seq" "i*" numbers::seq;
    "set" "msa" collections::set;
    "sha1sum" "s" encoding::sha1sum;
    "sha256sum" "s" encoding::sha256sum;
    "slice" "aa*" collections::slice;
    "slugify" "a*" slug::slugify;
    "snakecase" "s" texts::snakecase;
    "sortAlpha" "a" collections::sort_alpha;
    "split" "ss" collections::split;
    "splitList" "ss" collections::split_list;
    "splitn" "sis" collections::splitn;
    "squote" "a*" texts::squote;
    "sub" "aa" numbers::sub;
    "substr" "iis" texts::substr;
    "ternary" "aab" collections::ternary;
    "title" "s" texts::title;
    "toJson" "a" encoding::to_json;
    "toPrettyJson" "a" encoding::to_pretty_json;
    "toRawJson" "a" encoding::to_raw_json;
    "toString" "a" texts::to_string;
    "toStrings" "a" collections::to_strings;
    "toYaml" "a" encoding::to_yaml;
    "trim" "s" texts::trim;
    "trimAll" "ss" texts::trim_all;
    "trimPrefix" "ss" texts::trim_prefix;
    "trimSuffix" "ss" texts::trim_suffix;
    "trimall" "ss" texts::trim_all;
    "trunc" "is" texts::trunc;
    "tuple" "a*" collections::list;
    "typeIs" "sa" collections::type_is;
    "typeIsLike" "sa" collections::type_is;
    "typeOf" "a" collections::type_of;
    "uniq" "a" collections::uniq;
    "unset" "ms" collections::unset;
    "until" "i" numbers::until;
    "untilStep" "iii" numbers::until_step;
    "upper" "s" texts::upper;
    "urlquery" "a*" builtins::urlquery;
    "values" "m" collections::values;
    "without" "aa*" collections::without;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_each_function_stands_in_one_list() {
        for pair in FUNCTIONS.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} {}", pair[0].name, pair[1].name);
        }
        for name in NOT_DETERMINISTIC.iter().chain(NOT_EVALUATED) {
            assert!(find(name).is_none(), "{name}");
        }
    }
}
