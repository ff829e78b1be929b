//! Repository addresses: decides whether two URLs mean the same repository.
//!
//! Takes any form in which Git or Argo CD writes an address and hands on a [`RepoUrl`] of host and path. It never opens a connection.

use std::fmt;

/// Where a repository lives, reduced to host and path.
///
/// Two values are equal when Argo CD's webhook matching takes the addresses for the same repository: scheme, user, port, letter case, a
/// trailing `.git` and an `ssh.` or `altssh.` host prefix do not matter (`util/webhook/webhook.go:GetWebURLRegex`). Beyond that, surrounding
/// slashes are dropped, `git@host/path` is understood, and the three forms of an Azure DevOps address are one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoUrl {
    host: String,
    path: String,
}

impl RepoUrl {
    /// Reads `url`. `None` for what cannot be the address of a Git repository on a host: local paths, `file://`, `oci://`, templates and
    /// text without a host or a path.
    #[must_use]
    pub fn parse(url: &str) -> Option<Self> {
        let url = url.trim();
        if url.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '{' | '}' | '\\')) {
            return None;
        }
        let (has_scheme, rest) = match url.split_once("://") {
            Some((scheme, rest)) if is_git_scheme(scheme) => (true, rest),
            Some(_) => return None,
            None => (false, url),
        };
        let (user, rest) = split_user(rest);
        if user.is_some_and(|user| !is_user(user)) {
            return None;
        }
        let (host, path) = split_host(rest)?;
        let named = has_scheme || user.is_some();
        // Without a scheme or user, `foo/bar` is a relative path and `C:/bar` a drive, not a host.
        if host.is_empty() || (!named && (!host.contains('.') || host.starts_with('.'))) {
            return None;
        }
        let host = host.to_lowercase();
        let host = ["altssh.", "ssh."]
            .iter()
            .find_map(|prefix| host.strip_prefix(prefix).filter(|rest| rest.contains('.')))
            .unwrap_or(&host)
            .to_owned();
        let path = path.to_lowercase();
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
        if path.is_empty() {
            return None;
        }
        Some(azure_devops(&host, path).unwrap_or_else(|| Self { host: host.clone(), path: path.to_owned() }))
    }

    /// The host in lower case, without user, port and `ssh.` prefix.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path on the host in lower case, without surrounding slashes and `.git`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// `host/path`, which is also a form that [`RepoUrl::parse`] reads for hosts with a dot.
impl fmt::Display for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.path)
    }
}

/// `url` without a password or token in its user part, for messages and reports.
#[must_use]
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (user, after) = split_user(rest);
    match user.and_then(|user| user.split_once(':')) {
        Some((name, _)) => format!("{scheme}://{name}@{after}"),
        None => url.to_owned(),
    }
}

/// A text in which no address has a password.
pub fn without_passwords(text: &str) -> String {
    text.split_inclusive(|character: char| character.is_whitespace() || matches!(character, '\'' | '"' | '[' | '(' | ',' | ']' | ')'))
        .map(without_password)
        .collect()
}

fn is_git_scheme(scheme: &str) -> bool {
    ["https", "http", "ssh", "git", "git+ssh", "ssh+git"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// The part before the last `@` of the authority, and the rest.
fn split_user(rest: &str) -> (Option<&str>, &str) {
    let authority = rest.split('/').next().unwrap_or(rest);
    match authority.rfind('@') {
        Some(at) => (rest.get(..at), rest.get(at + 1..).unwrap_or_default()),
        None => (None, rest),
    }
}

/// Argo CD accepts no user that starts with `-` (it would read as an option of ssh). A password is no part of the name.
fn is_user(user: &str) -> bool {
    let name = user.split(':').next().unwrap_or(user);
    !name.starts_with('-')
}

/// Splits `host[:port][:/]path`.
fn split_host(rest: &str) -> Option<(&str, &str)> {
    let (host, after) = if rest.starts_with('[') { rest.split_at(rest.find(']')? + 1) } else { rest.split_at(rest.find([':', '/'])?) };
    let path = after.strip_prefix([':', '/'])?;
    if after.starts_with(':') {
        let digits = path.bytes().take_while(u8::is_ascii_digit).count();
        if let (true, Some(path)) = (digits > 0, path.get(digits..).and_then(|rest| rest.strip_prefix([':', '/']))) {
            return Some((host, path));
        }
    }
    Some((host, path))
}

/// The three address forms of Azure DevOps, of the old and the new host, as `dev.azure.com/organisation/project/_git/repository`.
fn azure_devops(host: &str, path: &str) -> Option<RepoUrl> {
    let mut parts: Vec<&str> = path.split('/').collect();
    if matches!(host, "dev.azure.com" | "vs-ssh.visualstudio.com") {
        if parts.first() == Some(&"v3") {
            parts.remove(0);
        }
    } else {
        parts.insert(0, host.strip_suffix(".visualstudio.com").filter(|organisation| !organisation.contains('.'))?);
        if parts.get(1) == Some(&"defaultcollection") {
            parts.remove(1);
        }
    }
    let (organisation, project, repository) = match *parts.as_slice() {
        [organisation, project, "_git", repository] | [organisation, project, repository] if project != "_git" => {
            (organisation, project, repository)
        }
        // A project's first repository carries its name, and the address may then leave the project out.
        [organisation, "_git", repository] => (organisation, repository, repository),
        _ => return None,
    };
    Some(RepoUrl { host: "dev.azure.com".to_owned(), path: format!("{organisation}/{project}/_git/{repository}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        matches!((RepoUrl::parse(a), RepoUrl::parse(b)), (Some(a), Some(b)) if a == b)
    }

    #[test]
    fn no_address_in_a_text_keeps_its_password() {
        let said = "failed: [http://user:canary@host:1, 'https://a:canary@b/c'] (ssh://x:canary@y)";
        assert_eq!(without_passwords(said), "failed: [http://user@host:1, 'https://a@b/c'] (ssh://x@y)");
    }

    #[test]
    fn s10_42_addresses_that_argo_cd_holds_for_the_same() {
        for (a, b) in [
            ("git@GITHUB.com:argoproj/test", "git@github.com:argoproj/test.git"),
            ("git@GITHUB.com:argoproj/test.git", "git@github.com:argoproj/test.git"),
            ("git@GITHUB.com:test", "git@github.com:test.git"),
            ("https://GITHUB.com/argoproj/test", "https://github.com/argoproj/test.git"),
            ("https://github.com/FOO", "https://github.com/foo"),
            ("https://github.com:4443/TEST", "https://github.com:4443/TEST.git"),
            ("ssh://git@GITHUB.com/argoproj/test", "git@github.com:argoproj/test.git"),
            ("ssh://git@github.com/test", "git@github.com:test.git"),
            (" https://github.com/argoproj/test ", "https://github.com/argoproj/test.git"),
            ("\thttps://github.com/argoproj/test\n", "https://github.com/argoproj/test.git"),
        ] {
            assert!(same(a, b), "{a} and {b}");
        }
    }

    #[test]
    fn s10_43_addresses_that_a_webhook_of_the_repository_reaches() {
        let web = "https://example.com/org/repo";
        for url in [
            "https://example.com/org/repo",
            "https://example.com/org/repo.git",
            "http://example.com/org/repo",
            "git@example.com:org/repo",
            "user@example.com:org/repo",
            "git@example.com/org/repo",
            "ssh://git@example.com/org/repo",
            "ssh://git@example.com:22/org/repo",
            "ssh://git@ssh.example.com:443/org/repo",
            "ssh://git@altssh.example.com:443/org/repo",
            "ssh://user-name@example.com/org/repo",
            "ssh://example.com/org/repo",
            "GIT@EXAMPLE.COM:22:ORG/REPO",
            "https://user@example.com/org/repo",
            "https://user:token@example.com:8443/org/repo/",
            "example.com/org/repo",
        ] {
            assert!(same(web, url), "{url}");
        }
        for url in [
            "https://example.com/org/repo-2",
            "ssh://git@unknown.example.com:443/org/repo",
            "ssh://-user-name@example.com/org/repo",
            "https://example.com/org/repo/sub",
            "https://example.com",
            "",
        ] {
            assert!(!same(web, url), "{url}");
        }
        assert!(!same("https://an.example.com/org/repo", "https://an-example.com/org/repo"));
        assert!(!same("https://example.com/org/a..d", "https://example.com/org/abcd"));
        assert!(same("https://example.com/org/repo%20", "ssh://git@example.com/org/repo%20"));
    }

    #[test]
    fn all_forms_of_an_azure_devops_address_are_one() {
        let web = "https://dev.azure.com/org/proj/_git/repo";
        for url in [
            "https://org@dev.azure.com/org/proj/_git/repo",
            "git@ssh.dev.azure.com:v3/org/proj/repo",
            "https://org.visualstudio.com/proj/_git/repo",
            "https://org.visualstudio.com/DefaultCollection/proj/_git/repo",
            "org@vs-ssh.visualstudio.com:v3/org/proj/repo",
        ] {
            assert!(same(web, url), "{url}");
        }
        assert!(same("https://dev.azure.com/org/_git/repo", "git@ssh.dev.azure.com:v3/org/repo/repo"));
        assert!(!same(web, "https://dev.azure.com/other/proj/_git/repo"));
    }

    #[test]
    fn what_is_no_repository_on_a_host_has_no_address() {
        for url in [
            "/srv/git/repo.git",
            "../repo",
            "file:///srv/repo",
            "oci://ghcr.io/org/chart",
            "C:/repo",
            "foo/bar",
            "{{url}}",
            "https://",
            "@:",
        ] {
            assert_eq!(RepoUrl::parse(url), None, "{url}");
        }
    }

    #[test]
    fn the_shown_form_has_no_user_and_can_be_read_again() {
        let url = RepoUrl::parse("https://user:secret@Example.com:443/Org/Repo.git").expect("an address");
        assert_eq!(url.to_string(), "example.com/org/repo");
        assert_eq!(RepoUrl::parse(&url.to_string()), Some(url));
    }

    #[test]
    fn passwords_are_cut_out_of_an_address() {
        assert_eq!(without_password("https://x-access-token:ghs_1@github.com/a/b"), "https://x-access-token@github.com/a/b");
        assert_eq!(without_password("git@github.com:a/b"), "git@github.com:a/b");
        assert_eq!(without_password("https://github.com/a/b:c@d"), "https://github.com/a/b:c@d");
    }
}
