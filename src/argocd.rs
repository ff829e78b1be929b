//! Argo CD's own vocabulary, typed: Applications, sync options, tracking, hooks, waves, settings, version switches.
//!
//! Takes objects; hands on types and their small pure rules. All annotation names stand in [`names`].

pub mod application;
pub mod applicationset;
pub mod cron;
pub mod filter;
pub mod generate_paths;
pub(crate) mod go;
pub mod hook;
pub mod names;
pub mod options;
pub(crate) mod pattern;
pub mod project;
pub mod schema;
pub mod selector;
pub mod settings;
pub mod shape;
pub mod tracking;
pub mod version;
pub mod wave;
pub mod window;
pub(crate) mod zone;

pub use application::{AppId, Application, ApplicationError, Destination, Source, SyncPolicy};
pub use applicationset::{ApplicationSet, ApplicationsSync};
pub use generate_paths::GeneratePaths;
pub use options::{Propagation, SyncOptions};
pub use project::Project;
pub use settings::Settings;
pub use shape::SpecProblem;
pub use tracking::{Tracking, TrackingId, TrackingMethod};
pub use version::Version;
