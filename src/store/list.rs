//! Which namespaces there are: those that have a live item.

use std::collections::BTreeSet;

use super::Store;
use super::overlay::Overlay;
use crate::model::{ListNamespacesOp, Namespace};

impl Store {
    /// One page of namespaces, sorted label by label, each once.
    pub(super) fn list(&self, list: &ListNamespacesOp, overlay: &Overlay) -> Vec<Namespace> {
        let replica = self.replica.borrow();
        let committed = replica.directory.iter();
        let live = committed
            .filter(|(id, known)| known.alive_at(overlay.now) && overlay.get(id).is_none())
            .map(|(id, _)| &id.namespace);
        let root = Namespace::default();
        let own = overlay.below(&root).map(|(id, _)| &id.namespace);
        let mut found = BTreeSet::new();
        let mut last = None;
        for namespace in live.chain(own) {
            // Items come in order, so the items of one namespace follow each other.
            if last.replace(namespace) == Some(namespace) {
                continue;
            }
            if list.prefix.matches_prefix(namespace) && list.suffix.matches_suffix(namespace) {
                found.insert(namespace.truncated(list.max_depth.unwrap_or(usize::MAX)));
            }
        }
        found.into_iter().skip(list.offset).take(list.limit).collect()
    }
}
