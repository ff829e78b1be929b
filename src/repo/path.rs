//! Paths as trees write them.

/// A source's path as tree paths are written: without leading `./`, trailing `/` and the like; `None` where it leaves the repository.
pub fn clean_path(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_and_never_leave_the_repository() {
        assert_eq!(clean_path("./apps//web/").as_deref(), Some("apps/web"));
        assert_eq!(clean_path(".").as_deref(), Some(""));
        assert_eq!(clean_path("a/../b").as_deref(), Some("b"));
        assert_eq!(clean_path("../b"), None);
    }
}
