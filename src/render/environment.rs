//! The build environment: variables about the Application that some fields of a source may use.
//!
//! Takes a request; hands on texts with `$NAME` and `${NAME}` replaced, as Argo CD replaces them.

use std::collections::BTreeMap;

use super::request::Request;

/// The variables of one source.
///
/// Source: Argo CD `reposerver/repository/repository.go:newEnv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<&'static str, String>,
}

impl Environment {
    /// The variables of a request.
    pub fn of(request: &Request<'_>) -> Self {
        let short = |length: usize| request.revision.get(..length).unwrap_or(&request.revision).to_owned();
        let variables = [
            ("ARGOCD_APP_NAME", request.identity.instance.clone()),
            ("ARGOCD_APP_NAMESPACE", request.identity.destination_namespace.clone()),
            ("ARGOCD_APP_PROJECT_NAME", request.identity.project.clone()),
            ("ARGOCD_APP_REVISION", request.revision.clone()),
            ("ARGOCD_APP_REVISION_SHORT", short(7)),
            ("ARGOCD_APP_REVISION_SHORT_8", short(8)),
            ("ARGOCD_APP_SOURCE_REPO_URL", request.source.repo_url.clone()),
            ("ARGOCD_APP_SOURCE_PATH", request.source.path.clone()),
            ("ARGOCD_APP_SOURCE_TARGET_REVISION", request.source.target_revision.clone()),
        ];
        Self { variables: variables.into() }
    }

    /// Whether a text depends on the revision, which nobody knows before the merge.
    pub fn depends_on_revision(text: &str) -> bool {
        text.contains("ARGOCD_APP_REVISION")
    }

    /// The variables by name.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.variables.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// The text with variables replaced; unknown ones become empty.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:Envsubst`, which is `os.Expand` of Go.
    pub fn substitute(&self, text: &str) -> String {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            result.push_str(before);
            let after = from.get(1..).unwrap_or_default();
            let (name, length) = name_at(after);
            match name {
                // Nothing that could be a name follows: the sign stands for itself, unless a brace was eaten with it.
                None if length == 0 => result.push('$'),
                None => {}
                Some("$") => result.push('$'),
                Some(name) => result.push_str(self.variables.get(name).map_or("", String::as_str)),
            }
            rest = after.get(length..).unwrap_or_default();
        }
        result.push_str(rest);
        result
    }
}

/// The name at the start of what follows a `$`, and how many bytes it takes; no name where the syntax is bad.
fn name_at(text: &str) -> (Option<&str>, usize) {
    let bytes = text.as_bytes();
    let is_special = |byte: u8| matches!(byte, b'*' | b'#' | b'$' | b'@' | b'!' | b'?' | b'-' | b'0'..=b'9');
    match bytes.first() {
        Some(b'{') => match text.find('}') {
            Some(1) => (None, 2),
            Some(end) => (text.get(1..end), end + 1),
            None => (None, 1),
        },
        Some(&byte) if is_special(byte) => (text.get(..1), 1),
        _ => {
            let length = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            (text.get(..length).filter(|name| !name.is_empty()), length)
        }
    }
}

#[cfg(test)]
impl Environment {
    /// These variables.
    pub(crate) fn for_test(variables: &[(&'static str, &str)]) -> Self {
        Self { variables: variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&'static str, &str)]) -> Environment {
        Environment::for_test(variables)
    }

    #[test]
    #[cfg(unix)]
    fn s10_07_the_variables_of_an_application() {
        use crate::render::fixture::{Setup, source, tree};
        let (setup, source, tree) = (Setup::new("web"), source(serde_json::json!({"repoURL": "r", "path": "./a"})), tree(&[], &[]));
        let request = Request { revision: "my-revision".to_owned(), ..setup.request(&tree, &source) };
        let environment = Environment::of(&request);
        let get = |name: &str| environment.substitute(&format!("${name}"));
        assert_eq!((get("ARGOCD_APP_REVISION_SHORT"), get("ARGOCD_APP_REVISION_SHORT_8")), ("my-revi".to_owned(), "my-revis".to_owned()));
        assert_eq!((get("ARGOCD_APP_NAMESPACE"), get("ARGOCD_APP_SOURCE_PATH")), ("shop".to_owned(), "./a".to_owned()));
    }

    #[test]
    fn s10_08_variables_are_replaced_as_go_does() {
        let foo = with(&[("FOO", "bar")]);
        let cases = [
            ("$FOO", "bar"),
            ("${FOO}", "bar"),
            ("a-$FOO-b", "a-bar-b"),
            ("$BAR", ""),
            ("${BAR}", ""),
            ("$$FOO", "$FOO"),
            ("${FOO", "FOO"),
            ("${}", ""),
            ("$1", ""),
            ("$", "$"),
            ("$.x", "$.x"),
            ("ü$FOOü", "übarü"),
        ];
        for (text, expected) in cases {
            assert_eq!(foo.substitute(text), expected, "{text}");
        }
    }

    #[test]
    fn s10_08_a_longer_name_is_not_eaten_by_a_shorter_one() {
        let both = with(&[("ARGOCD_APP_NAME", "web"), ("ARGOCD_APP_NAMESPACE", "shop")]);
        assert_eq!(both.substitute("$ARGOCD_APP_NAMESPACE/$ARGOCD_APP_NAME"), "shop/web");
    }
}
