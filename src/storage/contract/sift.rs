//! Looking through documents without handing them all over.

use super::*;

/// What is asked for in one go or in several.
async fn sifted(storage: &Rc<dyn Storage>, prefix: &[&str], text: &str) -> (Vec<ItemId>, usize) {
    let prefix = id(prefix, "").namespace;
    let (mut found, mut after, mut goes) = (Vec::new(), None, 0);
    loop {
        let wanted = |value: &str| Ok(value.contains(text));
        let mut sifted = storage.sift(&prefix, after.as_ref(), &wanted).await.unwrap();
        found.append(&mut sifted.found);
        goes += 1;
        match sifted.last {
            Some(last) => assert!(after.replace(last) < after, "it goes on"),
            None => return (found, goes),
        }
    }
}

/// Names that look alike stay apart, and the order is that of namespaces and keys.
pub async fn what_lies_at_or_below_a_prefix_is_looked_through_in_order(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    assert_eq!(sifted(&storage, &["a"], "").await.0, []);
    let ids = [
        id(&["a"], "k"),
        id(&["a"], "\u{ffff}"),
        id(&["a", "b"], "k"),
        id(&["a", "b", "c"], "k"),
        id(&["a", "😀"], "k"),
        id(&["a", "\u{ffff}"], "😀"),
        id(&["a-b"], "k"),
        id(&["ab"], "k"),
        id(&["b"], "k"),
    ];
    commit_puts(&storage, ids.iter().rev().map(|id| put(id, "tea", 1))).await;
    commit_puts(
        &storage,
        [put(&ids[2], "coffee", 2), expiring(&ids[3], "tea", 2, 3)],
    )
    .await;
    commit(&storage, vec![Write::Delete(ids[4].clone())]).await;
    let found = async |prefix: &[&str], text| sifted(&storage, prefix, text).await.0;
    let some = |positions: &[usize]| -> Vec<ItemId> { positions.iter().map(|&at| ids[at].clone()).collect() };
    assert_eq!(found(&["a"], "tea").await, some(&[0, 1, 3, 5]));
    assert_eq!(found(&["a"], "coffee").await, some(&[2]));
    assert_eq!(found(&["a", "b"], "t").await, some(&[2, 3]));
    assert_eq!(found(&["a", "😀"], "t").await, []);
    assert_eq!(found(&["ab"], "tea").await, some(&[7]));
    assert_eq!(found(&[], "tea").await, some(&[0, 1, 3, 5, 6, 7, 8]));
}

/// The first, the last, and what lies about the seams.
pub async fn a_long_list_is_gone_on_with(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let ids: Vec<ItemId> = (0..2500).map(|n| id(&["a"], &format!("{n:04}"))).collect();
    let text = |n: usize| if n.is_multiple_of(7) { "tea" } else { "coffee" };
    commit_puts(
        &storage,
        ids.iter().enumerate().map(|(n, id)| put(id, text(n), 1)),
    )
    .await;
    commit_puts(&storage, [put(&id(&["b"], "k"), "tea", 1)]).await;
    let (found, goes) = sifted(&storage, &["a"], "tea").await;
    let expected: Vec<ItemId> = ids.iter().step_by(7).cloned().collect();
    assert_eq!(found, expected);
    assert!(goes > 1, "memory is bounded");
    let (all, _) = sifted(&storage, &[], "").await;
    assert_eq!(all.len(), 2501);
}

/// The caller's error comes back as it was, and the storage lives on.
pub async fn a_failure_to_judge_a_document_is_the_answer(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let id = id(&["a"], "k");
    commit_puts(&storage, [put(&id, "text", 1)]).await;
    let refuse = |_: &str| Err(crate::Error::corrupted("not JSON"));
    let refused = storage.sift(&id.namespace, None, &refuse).await;
    assert_eq!(refused.unwrap_err().code(), "corrupted");
    assert_eq!(sifted(&storage, &["a"], "text").await.0, [id]);
}
