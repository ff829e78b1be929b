//! Writes a fleet's live state to a file.
//!
//! Takes a [`Fleet`] and a file; writes what `kubectl get -o json` or `-o yaml` prints.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::json;

use super::{Fleet, Result, live};

/// Writes the objects as one `List`, filled up to a least number of them; YAML where the file's name ends so, else JSON. Returns their number.
pub(super) fn write(fleet: &Fleet, file: &Path, least: usize) -> Result<usize> {
    let mut objects = live::objects(fleet)?;
    objects.extend((objects.len()..least).map(live::bystander));
    let count = objects.len();
    let list = json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": objects});
    let mut out = BufWriter::new(File::create(file)?);
    if file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
        serde_yaml::to_writer(&mut out, &list)?;
    } else {
        serde_json::to_writer_pretty(&mut out, &list)?;
    }
    out.flush()?;
    Ok(count)
}
