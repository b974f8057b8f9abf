//! Who may name what.
//!
//! The layers hold only as long as nobody reaches around them, and a reach-around compiles. So this reads every file
//! of `src/` as tokens (comments, texts and unit tests left out) and checks two tables: which foreign names belong to
//! which folders, and which of our own modules a module may use.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used)] // The helpers of tests are tests to us, but not to clippy.

use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Foreign names, and the only places that may use them.
const FOREIGN: &[(&[&str], &[&str])] = &[
    (
        &["js_sys", "web_sys", "wasm_bindgen", "wasm_bindgen_futures"],
        &["web", "storage/indexeddb"],
    ),
    (&["idb"], &["storage/indexeddb"]),
    (&["tract_onnx"], &["embed/tract"]),
];

/// Doors to the world outside, closed to the core: `std::` followed by these, and clocks.
const INPUT_OUTPUT: &[&str] = &["fs", "net", "env", "process", "thread"];
const CLOCKS: &[&str] = &["SystemTime", "Instant"];
const MAY_DO_IO: &[&str] = &["web", "storage/indexeddb", "embed/tract"];

/// Each module with the modules below it, which are all it may use. `error` is below everything.
const BELOW: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("model", &[]),
    ("index", &["model"]),
    ("embed", &["model"]),
    ("storage", &["model"]),
    ("store", &["model", "index", "embed", "storage"]),
    ("web", &["model", "index", "embed", "storage", "store"]),
];

#[test]
fn every_module_keeps_to_its_layer() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&src, &mut files);
    assert!(files.len() > 10, "the walk found the source");
    let mut found = Vec::new();
    for file in files {
        let path = file
            .strip_prefix(&src)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/");
        found.extend(violations(&path, &fs::read_to_string(&file).unwrap()));
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn every_module_has_a_place_in_the_table() {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let words = words(&lib);
    for window in words.windows(3) {
        if let [module, name, end] = window
            && module == "mod"
            && end == ";"
        {
            assert!(
                BELOW.iter().any(|(known, _)| known == name),
                "src/{name} has no layer"
            );
        }
    }
}

#[test]
fn each_kind_of_reach_around_is_seen() {
    for (path, source) in [
        ("store/write.rs", "use js_sys::Date;"),
        ("store/write.rs", "fn f() { web_sys::window(); }"),
        (
            "embed/encoder/mod.rs",
            "#[wasm_bindgen::prelude::wasm_bindgen] fn f() {}",
        ),
        ("storage/memory.rs", "use idb::Factory;"),
        ("web/store.rs", "use idb::Factory;"),
        ("web/installer.rs", "use tract_onnx::prelude::*;"),
        ("model/op.rs", "use std::fs;"),
        ("model/op.rs", "use std::{collections::HashMap, fs::File};"),
        ("model/clock.rs", "let now = std::time::SystemTime::now();"),
        ("store/ttl.rs", "use std::time::{Duration, Instant};"),
        ("model/op.rs", "use crate::store::Store;"),
        (
            "model/op.rs",
            "use crate::{Error, Result, index::{self, vector}};",
        ),
        ("index/vector/mod.rs", "fn f(s: &dyn crate::storage::Storage) {}"),
        ("embed/mod.rs", "use crate::store::Store;"),
        ("storage/mod.rs", "mod a { use super::super::store::Store; }"),
        ("storage/memory.rs", "use super::super::embed::Embedder;"),
        ("model/op.rs", "macro_rules! m { () => { crate::web::f() } }"),
    ] {
        assert_eq!(violations(path, source).len(), 1, "{path}: {source}");
    }
}

#[test]
fn what_is_allowed_is_not_seen() {
    for (path, source) in [
        (
            "web/store.rs",
            "use wasm_bindgen::prelude::*; use crate::store::Store;",
        ),
        (
            "storage/indexeddb/codec.rs",
            "use idb::Factory; use super::super::Entry; use crate::storage::Put;",
        ),
        ("embed/tract/mod.rs", "use tract_onnx::prelude::*; use std::fs;"),
        (
            "model/op.rs",
            "//! Like `std::fs`, idb and js_sys.\nconst A: &str = \"use crate::store;\";",
        ),
        (
            "model/op.rs",
            "/// [`crate::store::Store`]\nfn f(env: u8, idb_name: u8) {}",
        ),
        ("model/op.rs", "use crate::{Error, model::Key}; use super::Key;"),
        (
            "index/mod.rs",
            "fn f() {} #[cfg(test)] mod tests { use std::fs; use crate::store::Store; }",
        ),
        (
            "store/mod.rs",
            "use crate::{index::vector, model::{Item, Op}, storage::Storage, embed};",
        ),
        (
            "storage/contract/mod.rs",
            "wasm_bindgen_test::wasm_bindgen_test!();",
        ),
    ] {
        assert_eq!(violations(path, source), Vec::<String>::new(), "{path}");
    }
}

/// All Rust files but the test halves of modules (`tests.rs`, `tests/`), which answer to nobody.
fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// What is wrong with one file; `path` is relative to `src/`.
fn violations(path: &str, source: &str) -> Vec<String> {
    let words = words(source);
    let mut found = foreign_names(path, &words);
    if !is_within(path, MAY_DO_IO) {
        found.extend(
            outside_doors(&words).map(|door| format!("src/{path} names {door}: the core does no I/O")),
        );
    }
    let module = path.split(['/', '.']).next().unwrap_or_default();
    if let Some((_, below)) = BELOW.iter().find(|(name, _)| *name == module) {
        for used in own_modules(path, &words) {
            if used != module && used != "error" && !below.contains(&used.as_str()) {
                found.push(format!("src/{path} uses {used}, which is not below {module}"));
            }
        }
    }
    found
}

fn is_within(path: &str, folders: &[&str]) -> bool {
    let inside = |folder: &&str| {
        path.strip_prefix(*folder)
            .is_some_and(|rest| rest.starts_with('/') || rest.starts_with('.'))
    };
    folders.iter().any(inside)
}

fn foreign_names(path: &str, words: &[String]) -> Vec<String> {
    let forbidden = FOREIGN.iter().filter(|(_, folders)| !is_within(path, folders));
    let names = forbidden.flat_map(|(names, _)| names.iter());
    let named = names.filter(|name| words.iter().any(|word| word == *name));
    named.map(|name| format!("src/{path} names {name}")).collect()
}

/// `std::fs` and its like, also within a group, and clocks wherever they come from.
fn outside_doors(words: &[String]) -> impl Iterator<Item = String> {
    let roots = used_after(words, "std");
    let doors = roots
        .into_iter()
        .filter(|name| INPUT_OUTPUT.contains(&name.as_str()));
    let clocks = words
        .iter()
        .filter(|word| CLOCKS.contains(&word.as_str()))
        .cloned();
    doors
        .map(|name| format!("std::{name}"))
        .chain(clocks.take(1).collect::<Vec<_>>())
}

/// Our own top-level modules that a file names, by `crate::` or by enough `super::`.
fn own_modules(path: &str, words: &[String]) -> Vec<String> {
    let is_module = |name: &String| BELOW.iter().any(|(known, _)| known == name);
    let by_crate = used_after(words, "crate").into_iter();
    // From a/b.rs the second super is the crate, from a/mod.rs and a.rs the first; one more within an inline module.
    // The exact count does not matter: a top-level module after any chain of two or more is a reach to the root.
    let by_super = words.windows(7).filter_map(|window| match window {
        [a, _, _, b, _, _, name] if a == "super" && b == "super" => Some(name.clone()),
        _ => None,
    });
    let own = path.split(['/', '.']).next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = by_crate
        .chain(by_super)
        .filter(is_module)
        .filter(|name| *name != own)
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The names that directly follow `root::`, or the first names within `root::{ … }`.
fn used_after(words: &[String], root: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, window) in words.windows(4).enumerate() {
        let [word, first, second, next] = window else {
            continue;
        };
        if word != root || first != ":" || second != ":" {
            continue;
        }
        if next != "{" {
            names.push(next.clone());
            continue;
        }
        let mut depth = 0;
        let mut previous = "";
        for word in &words[at + 3..] {
            match word.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                name if depth == 1 && (previous == "{" || previous == ",") => names.push(name.to_owned()),
                _ => {}
            }
            if depth == 0 {
                break;
            }
            previous = word;
        }
    }
    names
}

/// A file's names and marks. Texts and comments are none, and unit tests are left out.
fn words(source: &str) -> Vec<String> {
    let tokens: TokenStream = source.parse().expect("the source is Rust");
    let mut words = Vec::new();
    flatten(tokens, &mut words);
    words
}

fn flatten(tokens: TokenStream, words: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let attribute = group.stream().to_string().replace(' ', "");
                if attribute == "cfg(test)" || attribute.starts_with("cfg(all(test,") {
                    skip_module(&mut tokens);
                    continue;
                }
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    _ => ("(", ")"),
                };
                words.push(open.to_owned());
                flatten(group.stream(), words);
                words.push(close.to_owned());
            }
            TokenTree::Literal(_) => words.push(String::new()),
            other => words.push(other.to_string()),
        }
    }
}

/// Drops `mod name { … }` after `#[cfg(test)]`; leaves anything else.
fn skip_module(tokens: &mut std::iter::Peekable<proc_macro2::token_stream::IntoIter>) {
    if tokens.next_if(|token| token.to_string() == "mod").is_none() {
        return;
    }
    let _name = tokens.next();
    let _body = tokens.next();
}
