//! Measures planning alone: Applications against live objects, at several sizes of both, in sync and with every Deployment changed.
//!
//! `cargo bench --bench plan`; `PRESYNC_BENCH_APPLICATIONS` sets the largest number of Applications, with a hundred live objects each. Prints
//! medians; judges nothing but that the plans were right.

#![allow(clippy::print_stdout, reason = "prints its results")]

#[allow(dead_code, reason = "this benchmark uses a part of it")]
mod generator;
mod measure;

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use generator::rendered::{self, Rendered};
use generator::{Fleet, Result};
use measure::Times;
use presync::manifest::Manifest;
use presync::plan::Action;
use presync::snapshot;
use rayon::prelude::*;
use serde_json::Value;

/// Live objects for each Application in the largest measurement.
const OBJECTS_EACH: usize = 100;

fn main() -> Result<()> {
    // Cargo says `--bench` when it measures; a test run only has to see that this builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let most = std::env::var("PRESYNC_BENCH_APPLICATIONS").map_or(Ok(1_000), |text| text.parse::<usize>())?;
    println!("presync {}, {}", env!("CARGO_PKG_VERSION"), measure::machine());
    println!("\n{:<58} {:>10} {:>10} {:>10}", format!("milliseconds, {} runs", measure::RUNS), "median", "least", "most");
    // Each number grows alone, then both together: the times should grow alike.
    for (applications, objects) in [(most / 4, most / 4), (most / 4, most), (most, most / 4), (most / 2, most / 2), (most, most)] {
        measure(applications, objects * OBJECTS_EACH)?;
    }
    println!("\nload afterwards {}", measure::load());
    Ok(())
}

fn measure(applications: usize, objects: usize) -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plan");
    std::fs::create_dir_all(&folder)?;
    let fleet = Fleet::generate(&folder.join(applications.to_string()), applications)?;
    let file = folder.join(format!("{applications}-{objects}.json"));
    let count = fleet.write_snapshot_of(&file, objects)?;
    let live = snapshot::load(&[file.to_string_lossy()])?;
    std::fs::remove_file(&file)?;
    let rendered = rendered::of(&fleet)?;
    let changed: Vec<Rendered> = rendered.iter().map(with_new_images).collect();
    let plan = |all: &[Rendered]| {
        let world = rendered::world(&live, all);
        all.par_iter().map(|one| rendered::plan(one, &world)).collect::<Vec<_>>()
    };
    let actions = |all: &[Rendered]| plan(all).iter().flat_map(|plan| &plan.changes).filter(|change| change.action != Action::None).count();
    if actions(&rendered) != 0 {
        return Err("a fleet that is in sync has something to do".into());
    }
    if actions(&changed) != applications {
        return Err(format!("{applications} Deployments were changed, {} are updated", actions(&changed)).into());
    }
    let size = format!("{applications} Applications, {count} live objects");
    println!("{:<58} {}", format!("{size}, in sync"), Times::of(|| Ok::<_, Infallible>(plan(&rendered)))?);
    println!("{:<58} {}", format!("{size}, Deployments changed"), Times::of(|| Ok::<_, Infallible>(plan(&changed)))?);
    Ok(())
}

/// The same with another image in the Deployment, as after a release of everything.
fn with_new_images(one: &Rendered) -> Rendered {
    let manifests = one.manifests.iter().map(|manifest| {
        let mut object = Value::clone(&manifest.object);
        match object.pointer_mut("/spec/template/spec/containers/0/image") {
            Some(image) if &*manifest.key.kind == "Deployment" => *image = Value::from("registry.example.test/next:2.0"),
            _ => return Arc::clone(manifest),
        }
        Arc::new(Manifest { key: manifest.key.clone(), object: object.into(), origin: manifest.origin.clone() })
    });
    Rendered { application: Arc::clone(&one.application), manifests: manifests.collect() }
}
