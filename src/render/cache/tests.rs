use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::manifest::origin::{RenderedFrom, Renderer};
use crate::manifest::{Manifest, Origin, ResourceKey};
use crate::render::Duplicate;

fn key(number: u32) -> Key {
    *blake3::hash(&number.to_le_bytes()).as_bytes()
}

fn origin(side: Side) -> Origin {
    let values = Origin { path: "apps/web/values.yaml".into(), side, document: 0..9, line: 1, within: String::new(), rendered: None };
    let from = RenderedFrom { renderer: Renderer::Helm, others: vec![values] };
    Origin {
        path: "apps/web/templates/a.yaml".into(),
        side,
        document: 3..40,
        line: 2,
        within: "/items/1".into(),
        rendered: Some(Arc::new(from)),
    }
}

fn rendered(object: Value) -> Rendered {
    let key = ResourceKey::of(&object).unwrap();
    Rendered {
        manifests: vec![Arc::new(Manifest { key, object: object.into(), origin: origin(Side::Base) })],
        duplicate_keys: vec![Duplicate { origin: origin(Side::Base), pointer: "/data/a".into() }],
        warnings: vec!["a warning".into()],
        assumptions: vec!["an assumption".into()],
        is_transient: false,
        unstable: Vec::new(),
    }
}

fn config_map(size: usize) -> Rendered {
    // Text that does not compress.
    let text: String = (0..size / 64).map(|part| blake3::hash(&part.to_le_bytes()).to_hex().to_string()).collect();
    rendered(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}, "data": {"text": text}}))
}

fn sizes(cache: &Cache) -> u64 {
    files(&cache.folder).map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
fn what_was_kept_comes_back_as_it_was_at_either_side() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 3, "ratio": 0.30000000000000004, "third": 1.0 / 3.0, "large": 1.5e300, "small": i64::MIN,
                 "tiny": 5e-324, "text": "\u{7}<>&é\u{2028}\"\\", "empty": {}, "none": null, "list": [[], [1]]},
    });
    let before = rendered(object);
    cache.put(&key(1), &before);
    let after = cache.get(&key(1), Side::Head).unwrap();
    assert_eq!(after.manifests[0].object, before.manifests[0].object);
    assert_eq!(after.manifests[0].object.to_string(), before.manifests[0].object.to_string());
    assert_eq!(after.manifests[0].key, before.manifests[0].key);
    assert_eq!(after.manifests[0].origin, origin(Side::Head));
    assert_eq!((&after.duplicate_keys[0].origin, &*after.duplicate_keys[0].pointer), (&origin(Side::Head), "/data/a"));
    assert_eq!((after.warnings, after.assumptions), (before.warnings, before.assumptions));
    assert!(cache.get(&key(2), Side::Head).is_none());
}

#[test]
fn a_render_with_secret_values_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    let secret = |more: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rendered(object)
    };
    cache.put(&key(1), &secret(json!({"data": {"token": "aHVudGVyMg=="}})));
    cache.put(&key(2), &secret(json!({"stringData": {"token": "hunter2"}})));
    cache.put(&key(3), &secret(json!({"data": "hunter2"})));
    let mut mixed = config_map(64);
    mixed.append(&secret(json!({"data": {"token": "aHVudGVyMg=="}})));
    cache.put(&key(4), &mixed);
    assert_eq!((sizes(&cache), cache.broken()), (0, None));
    cache.put(&key(4), &Rendered { is_transient: true, ..config_map(64) });
    assert_eq!(sizes(&cache), 0);
    cache.put(&key(5), &secret(json!({"data": {}})));
    assert!(cache.get(&key(5), Side::Base).is_some());
}

#[test]
fn a_damaged_entry_is_no_entry_and_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    cache.put(&key(1), &config_map(4096));
    let path = cache.path(&key(1));
    let whole = fs::read(&path).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for bytes in [&whole[..whole.len() - 1], &whole[..10], &[], &changed] {
        fs::write(&path, bytes).unwrap();
        assert!(cache.get(&key(1), Side::Base).is_none());
    }
    // The entry of another key under this name.
    cache.put(&key(2), &config_map(64));
    fs::copy(cache.path(&key(2)), &path).unwrap();
    assert!(cache.get(&key(1), Side::Base).is_none());
    cache.put(&key(1), &config_map(4096));
    assert!(cache.get(&key(1), Side::Base).is_some());
}

#[test]
fn the_entries_that_were_not_used_for_longest_go_first() {
    let folder = tempfile::tempdir().unwrap();
    {
        let cache = Cache::new(folder.path());
        for number in 0..10 {
            cache.put(&key(number), &config_map(20_000));
            let file = File::options().append(true).open(cache.path(&key(number))).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(86_400 - u64::from(number))).unwrap();
        }
        // Used now, though it was made first.
        assert!(cache.get(&key(0), Side::Base).is_some());
    }
    let one = fs::metadata(Cache::new(folder.path()).path(&key(0))).unwrap().len();
    let bounded = Cache::bounded(folder.path(), one * 5);
    bounded.put(&key(10), &config_map(20_000));
    drop(bounded);
    let left = Cache::new(folder.path());
    assert!(sizes(&left) <= one * 5);
    for (number, is_left) in [(0, true), (1, false), (2, false), (9, true), (10, true)] {
        assert_eq!(left.get(&key(number), Side::Base).is_some(), is_left, "{number}");
    }
}

#[test]
fn twenty_threads_on_one_folder_see_whole_entries_only() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let cache = Cache::bounded(folder.path(), 200_000);
                for round in 0..30 {
                    let number = round % 7;
                    let size = 1000 * (number as usize + 1);
                    match cache.get(&key(number), Side::Base) {
                        Some(found) => assert_eq!(found.manifests[0].object, config_map(size).manifests[0].object),
                        None => cache.put(&key(number), &config_map(size)),
                    }
                }
                assert_eq!(cache.broken(), None);
            });
        }
    });
    let cache = Cache::new(folder.path());
    assert!(files(&cache.folder).all(|file| !file.file_name().to_string_lossy().starts_with(ASIDE)));
}

#[test]
fn a_folder_that_cannot_be_written_is_told_once_and_nothing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let cache = Cache::new(&file);
    assert!(cache.get(&key(1), Side::Base).is_none());
    cache.put(&key(1), &config_map(64));
    cache.put(&key(2), &config_map(64));
    assert!(cache.broken().unwrap().starts_with("renders cannot be kept in"));
}
