//! The fuzz targets on a stable compiler: over their corpora, and over changes of them that are the same in every run.
//!
//! `PRESYNC_FUZZ_ROUNDS` sets how many changes of each file are tried; `make fuzz` lets libFuzzer look for new ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

#[path = "../fuzz/targets.rs"]
mod targets;

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

use targets::TARGETS;

/// Changes of each file in an ordinary run.
const ROUNDS: usize = 200;
/// Longest input that changes make.
const MAX_BYTES: usize = 4096;
/// Pieces that mean something to one reader or the other.
const PIECES: [&str; 32] = [
    "\n",
    ": ",
    "- ",
    "---\n",
    "{",
    "}",
    "[",
    "]",
    "{{",
    "}}",
    "&a ",
    "*a",
    "<<: *a",
    "|",
    ">-",
    "\"",
    "'",
    "#",
    "!!str ",
    "~",
    "\t",
    "\u{feff}",
    "\0",
    "é",
    "\u{2028}",
    "99999999999999999999",
    "1e999",
    "$x",
    "..",
    "path(",
    "/-",
    "%",
];

/// A small generator of numbers that looks random and is the same everywhere (xorshift64*, Vigna 2016).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % sides.max(1)
    }
}

fn changed(data: &[u8], others: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut data = data.to_vec();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(data.len() + 1);
        let end = (at + dice.roll(12)).min(data.len());
        match dice.roll(6) {
            0 => drop(data.drain(at..end)),
            1 => data.splice(at..at, PIECES[dice.roll(PIECES.len())].bytes()).for_each(drop),
            2 => data.splice(at..end, PIECES[dice.roll(PIECES.len())].bytes()).for_each(drop),
            3 => data.truncate(at),
            4 => {
                let piece = data[at..end].to_vec();
                let to = dice.roll(data.len() + 1);
                data.splice(to..to, piece).for_each(drop);
            }
            _ => {
                let other = &others[dice.roll(others.len())];
                let from = dice.roll(other.len() + 1);
                data.splice(at..end, other[from..].iter().copied()).for_each(drop);
            }
        }
        data.truncate(MAX_BYTES);
    }
    data
}

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

/// Runs a target; an input on which it panics is told as it is.
fn run(name: &str, target: fn(&[u8]), data: &[u8], from: &Path) {
    if panic::catch_unwind(|| target(data)).is_err() {
        panic!("{name} does not bear this, which comes from {}: {:?}", from.display(), String::from_utf8_lossy(data));
    }
}

#[test]
fn no_target_fails_on_its_corpus_or_on_changes_of_it() {
    let rounds = std::env::var("PRESYNC_FUZZ_ROUNDS").ok().map_or(ROUNDS, |text| text.parse().unwrap());
    for (name, target) in TARGETS {
        let files = corpus(name);
        assert!(!files.is_empty(), "{name} has no corpus");
        let all: Vec<Vec<u8>> = files.iter().map(|(_, data)| data.clone()).collect();
        for (file, data) in &files {
            run(name, target, data, file);
            let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
            for _ in 0..rounds {
                run(name, target, &changed(data, &all, &mut dice), file);
            }
        }
    }
}

#[test]
fn every_target_is_handed_to_the_fuzzer() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}
