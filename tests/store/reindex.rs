//! Another model, other fields: everything embedded anew, under a store that goes on working.

use std::rc::Rc;

use burrow::embed::{Embedder, TextKind};
use burrow::store::{Phase, ReindexOptions, StoreOptions};
use futures::executor::block_on;
use futures::poll;
use serde_json::json;

use crate::support::*;

fn to(embedder: &Rc<Fake>) -> ReindexOptions {
    let embedder: Rc<dyn Embedder> = embedder.clone();
    ReindexOptions {
        embedder: Some(embedder),
        fields: vec!["text".into()],
        ..Default::default()
    }
}

#[test]
fn opening_with_reindex_embeds_everything_anew_and_reports_progress() {
    let table = Table::new();
    for n in 0..40 {
        table.text(&["a"], &format!("{n:02}"), "abc");
    }
    table.ask(json!({ "op": "put", "namespace": ["b"], "key": "raw", "value": { "text": "abc" }, "index": false }))
        .unwrap();
    let before = table.get(&["a"], "07").unwrap();
    let watch = Rc::new(Watch::default());
    let options = StoreOptions {
        reindex: true,
        observer: Some(watch.clone()),
        ..fields(&["text"])
    };
    let store = open(&table.storage, Some(letters()), &table.clock, options).unwrap();
    assert_eq!(
        page(ask(&store, search(json!({ "query": "cab", "limit": 50 }))).unwrap())
            .items
            .len(),
        40
    );
    let heard = watch.heard.borrow();
    assert_eq!(heard.first(), Some(&(Phase::Reindex, 0, 41)));
    assert_eq!(heard.last(), Some(&(Phase::Reindex, 41, 41)));
    assert!(heard.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    assert_eq!(table.get(&["a"], "07"), Some(before));
    assert!(
        table.stored().contains(&("raw".to_owned(), 0)),
        "index: false is remembered"
    );
}

#[test]
fn a_reindex_that_is_cancelled_or_fails_leaves_the_former_index() {
    let table = Table::new();
    for n in 0..40 {
        table.text(&["a"], &format!("{n:02}"), "abc");
    }
    let before = (table.stored(), table.stats());
    let watch = Rc::new(Watch {
        cancel_at: Some(16),
        ..Default::default()
    });
    let options = ReindexOptions {
        observer: Some(watch),
        ..to(&letters())
    };
    assert_eq!(
        block_on(table.store.reindex(options)).unwrap_err().code(),
        "aborted"
    );
    let failing = letters();
    failing
        .failures
        .borrow_mut()
        .extend([None, Some(burrow::Error::internal("no memory"))]);
    assert_eq!(
        block_on(table.store.reindex(to(&failing))).unwrap_err().code(),
        "embedding"
    );
    assert_eq!((table.stored(), table.stats()), before);
    assert_eq!(
        table.search(json!({ "query": "abc", "limit": 50 })).items.len(),
        40
    );
}

#[test]
fn while_a_reindex_runs_the_store_works_and_what_it_writes_is_in_the_new_index() {
    let table = Table::new();
    table.text(&["a"], "k", "abc");
    let next = letters();
    next.hold.set(true);
    block_on(async {
        let mut reindex = Box::pin(table.store.reindex(to(&next)));
        assert!(poll!(&mut reindex).is_pending());
        table
            .store
            .execute(parse(put("k", "xyz")).unwrap())
            .await
            .unwrap();
        table
            .store
            .execute(parse(put("new", "uvw")).unwrap())
            .await
            .unwrap();
        let during = table
            .store
            .execute(parse(search(json!({ "query": "uvw" }))).unwrap())
            .await
            .unwrap();
        assert_eq!(page(during).items[0].item.key.0, "new");
        let other = table.store.reindex(to(&letters())).await;
        assert_eq!(other.unwrap_err().code(), "conflict");
        next.release();
        assert!(
            poll!(&mut reindex).is_pending(),
            "what was written meanwhile is embedded"
        );
        next.release();
        reindex.await.unwrap();
        next.hold.set(false);
    });
    assert_eq!(
        (found(&table.store, "zyx"), found(&table.store, "wvu")),
        (vec!["k".to_owned()], vec!["new".to_owned()])
    );
    assert!(found(&table.store, "cba").is_empty());
    table.text(&["a"], "later", "mno");
    assert_eq!(found(&table.store, "onm"), ["later"]);
    assert!(
        block_on(table.store.reindex(to(&Fake::words()))).is_ok(),
        "another one can follow"
    );
}

#[test]
fn a_put_that_was_embedded_by_the_former_model_is_embedded_again() {
    let table = Table::new();
    let next = letters();
    table.embedder.hold.set(true);
    block_on(async {
        let mut held = Box::pin(table.store.execute(parse(put("k", "abc")).unwrap()));
        assert!(poll!(&mut held).is_pending());
        table.store.reindex(to(&next)).await.unwrap();
        table.embedder.release();
        held.await.unwrap();
    });
    assert_eq!(next.texts(TextKind::Document), ["abc"]);
    assert_eq!(found(&table.store, "cba"), ["k"]);
}

#[test]
fn a_query_that_was_embedded_by_the_former_model_is_embedded_again() {
    let table = Table::new();
    table.text(&["a"], "k", "abc");
    let next = letters();
    table.embedder.hold.set(true);
    block_on(async {
        let mut held = Box::pin(
            table
                .store
                .execute(parse(search(json!({ "query": "cab" }))).unwrap()),
        );
        assert!(poll!(&mut held).is_pending());
        table.store.reindex(to(&next)).await.unwrap();
        table.embedder.release();
        let found = page(held.await.unwrap());
        assert_eq!(
            (keys(&found), found.items[0].score.map(|score| score > 0.999)),
            (vec!["k"], Some(true))
        );
    });
    assert_eq!(next.texts(TextKind::Query), ["cab"]);
}

#[test]
fn a_reindex_spends_nothing_on_what_has_expired() {
    let table = Table::new();
    table
        .ask(json!({ "op": "put", "namespace": ["a"], "key": "old", "value": { "text": "abc" }, "ttl": 1 }))
        .unwrap();
    table.text(&["a"], "k", "xyz");
    table.clock.advance(MINUTE);
    let next = letters();
    block_on(table.store.reindex(to(&next))).unwrap();
    assert_eq!(next.texts(TextKind::Document), ["xyz"]);
}

#[test]
fn a_reindex_to_nothing_drops_the_index() {
    let table = Table::new();
    table.text(&["a"], "k", "tea");
    block_on(table.store.reindex(ReindexOptions::default())).unwrap();
    assert_eq!(
        table.try_search(json!({ "query": "tea" })).unwrap_err().code(),
        "no_index"
    );
    assert_eq!(
        (table.stored(), table.stats().fingerprint),
        (vec![("k".to_owned(), 0)], None)
    );
}

#[test]
fn closing_the_store_ends_a_reindex_whose_embedder_never_answers() {
    let table = Table::new();
    table.text(&["a"], "k", "tea");
    let next = letters();
    next.hold.set(true);
    let before = table.stored();
    block_on(async {
        let mut reindex = Box::pin(table.store.reindex(to(&next)));
        assert!(poll!(&mut reindex).is_pending());
        table.store.close().await.unwrap();
        assert_eq!(reindex.await.unwrap_err().code(), "closed");
    });
    assert_eq!(table.stored(), before);
}

#[test]
fn an_item_deleted_and_put_again_within_one_tick_of_the_clock_is_embedded_again() {
    let table = Table::new();
    table.text(&["a"], "k", "abc");
    let next = letters();
    next.hold.set(true);
    block_on(async {
        let mut reindex = Box::pin(table.store.reindex(to(&next)));
        assert!(poll!(&mut reindex).is_pending());
        for op in [
            json!({ "op": "delete", "namespace": ["a"], "key": "k" }),
            put("k", "xyz"),
        ] {
            table.store.execute(parse(op).unwrap()).await.unwrap();
        }
        next.release();
        next.hold.set(false);
        reindex.await.unwrap();
    });
    assert_eq!(found(&table.store, "zyx"), ["k"]);
    assert!(found(&table.store, "cba").is_empty());
}

#[test]
fn a_reindex_that_fails_after_another_tab_made_the_same_index_has_succeeded() {
    let (table, other) = two_tabs();
    table.text(&["a"], "k", "abc");
    let next = letters();
    next.hold.set(true);
    block_on(async {
        let mut reindex = Box::pin(table.store.reindex(to(&next)));
        assert!(poll!(&mut reindex).is_pending());
        other.reindex(to(&letters())).await.unwrap();
        // A read makes the store take up its own new embedder, since the database is indexed by it now.
        table.store.stats().await.unwrap();
        next.fail_next(burrow::Error::embedding("no"));
        next.release();
        next.hold.set(false);
        reindex.await.unwrap();
    });
    table.text(&["a"], "l", "xyz");
    assert_eq!(found(&table.store, "zyx"), ["l"]);
}

/// With the model unchanged, reading everything anew looks like the reindex having happened.
#[test]
fn a_reindex_by_the_same_model_that_fails_has_failed_though_much_was_written_elsewhere() {
    let (table, other) = two_tabs();
    table.text(&["a"], "k", "tea");
    let again = Fake::words();
    again.hold.set(true);
    block_on(async {
        let mut reindex = Box::pin(table.store.reindex(to(&again)));
        assert!(poll!(&mut reindex).is_pending());
        let puts = (0..5_000)
            .map(|n| json!({ "op": "put", "namespace": ["b"], "key": format!("{n}"), "value": {}, "index": false }));
        other.batch(parse_all(puts.collect()).unwrap()).await.unwrap();
        table.store.stats().await.unwrap();
        again.fail_next(burrow::Error::embedding("no"));
        again.release();
        again.hold.set(false);
        assert_eq!(reindex.await.unwrap_err().code(), "embedding");
    });
}
