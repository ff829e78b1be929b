//! presync tells a platform team, before a pull request is merged, what Argo CD will do to their cluster because of it.
//!
//! The modules stand in the order in which data walks through them, and a module uses only those above it:
//! repository → inventory → render → snapshot → plan → rules → report.

pub mod argocd;
pub mod check;
pub mod cli;
pub mod config;
pub mod finding;
pub mod fix;
pub mod inventory;
pub mod manifest;
pub mod plan;
pub mod render;
pub mod repo;
pub mod report;
pub mod rules;
pub mod snapshot;
