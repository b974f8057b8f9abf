//! What a page can do around our code: look at databases by hand, and make the browser misbehave.

use js_sys::{Array, Function};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(inline_js = r#"
const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
});

/** Opens a database of any version and shape, and holds it without making room for anybody. */
export const rawOpen = (name, version, stores) => {
    const request = indexedDB.open(name, version);
    request.onupgradeneeded = () => stores.forEach((store) => request.result.createObjectStore(store));
    return done(request);
};
export const rawClose = (database) => database.close();
export const rawVersion = async (name) => {
    const database = await done(indexedDB.open(name));
    database.close();
    return database.version;
};
export const rawUpgrade = async (name, version) => (await rawOpen(name, version, [])).close();
export const rawDelete = (name) => done(indexedDB.deleteDatabase(name));

/** Reads all of a store: [[key, value], ...]. */
export const rawDump = async (name, store) => {
    const database = await done(indexedDB.open(name));
    try {
        const objects = database.transaction(store).objectStore(store);
        const [keys, values] = await Promise.all([done(objects.getAllKeys()), done(objects.getAll())]);
        return keys.map((key, index) => [key, values[index]]);
    } finally {
        database.close();
    }
};

const damages = {
    "flip the last byte": (buffer) => {
        new Uint8Array(buffer)[buffer.byteLength - 1] ^= 1;
        return buffer;
    },
    "cut in half": (value) => value.slice(0, (value.byteLength ?? value.length) >> 1),
    "empty": () => new ArrayBuffer(0),
    "another type": () => 42,
    "another text": (text) => text.replace("e", "a"),
};

/** Damages the first record of a store, in `meta` the last: the state. */
export const rawDamage = async (name, store, damage) => {
    const records = await rawDump(name, store);
    const [key, value] = records.at(store === "meta" ? -1 : 0);
    const database = await done(indexedDB.open(name));
    const transaction = database.transaction(store, "readwrite");
    transaction.objectStore(store).put(damages[damage](value), key);
    await new Promise((resolve) => (transaction.oncomplete = resolve));
    database.close();
};
export const rawCount = async (name, store) => (await rawDump(name, store)).length;

/** Takes the first record of a store away. */
export const rawTake = async (name, store) => {
    const [[key]] = await rawDump(name, store);
    const database = await done(indexedDB.open(name));
    const transaction = database.transaction(store, "readwrite");
    transaction.objectStore(store).delete(key);
    await new Promise((resolve) => (transaction.oncomplete = resolve));
    database.close();
};

/** Everything in a database as JSON text, buffers as {base64}. And back. */
export const exportDatabase = async (name) => {
    const database = await done(indexedDB.open(name));
    const { version, objectStoreNames } = database;
    database.close();
    const stores = {};
    for (const store of objectStoreNames) stores[store] = await rawDump(name, store);
    const revive = (_, value) =>
        value instanceof ArrayBuffer ? { base64: btoa(String.fromCharCode(...new Uint8Array(value))) } : value;
    return JSON.stringify({ version, stores }, revive, 1);
};
export const importDatabase = async (name, text) => {
    const bytes = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)).buffer;
    const { version, stores } = JSON.parse(text, (_, value) => (value?.base64 ? bytes(value.base64) : value));
    const database = await rawOpen(name, version, Object.keys(stores));
    const transaction = database.transaction(Object.keys(stores), "readwrite");
    for (const [store, records] of Object.entries(stores))
        for (const [key, value] of records) transaction.objectStore(store).put(value, key);
    await new Promise((resolve) => (transaction.oncomplete = resolve));
    database.close();
};

/** Patches a method until `restore()` is called; `patch(original, self, args)` stands in for the calls. */
const patched = (prototype, method, patch) => {
    const original = prototype[method];
    prototype[method] = function (...args) { return patch(original, this, args); };
    return () => { prototype[method] = original; };
};

/** From the n-th put on, a transaction ends as on a full disk: every request succeeds, then it aborts. */
export const fullDisk = (after) => patched(IDBObjectStore.prototype, "put", (original, store, args) => {
    const request = original.apply(store, args);
    if (--after === 0) {
        const transaction = store.transaction;
        const error = new DOMException("stub", "QuotaExceededError");
        request.addEventListener("success", () => {
            Object.defineProperty(transaction, "error", { get: () => error });
            transaction.abort();
        });
    }
    return request;
});

/** The n-th put throws on the spot. */
export const throwingPut = (after) => patched(IDBObjectStore.prototype, "put", (original, store, args) => {
    if (--after === 0) throw new DOMException("stub", "DataError");
    return original.apply(store, args);
});

/** The n-th put fails on its own, by a real ConstraintError: an `add` of a key that exists. */
export const failingPut = (after) => patched(IDBObjectStore.prototype, "put", (original, store, args) => {
    const request = original.apply(store, args);
    return --after === 0 ? store.add(...args) : request;
});

/** Closes the connection of the next n transactions before they begin, as Safari loses them. */
export const losingConnection = (times) =>
    patched(IDBDatabase.prototype, "transaction", (original, database, args) => {
        if (times-- > 0) database.close();
        return original.apply(database, args);
    });

/** Before the next transaction the site's data are cleared: connection and database go, without a `versionchange`. */
export const clearedData = (name) => {
    let here = true;
    return patched(IDBDatabase.prototype, "transaction", (original, database, args) => {
        if (here) {
            here = false;
            database.close();
            indexedDB.deleteDatabase(name);
        }
        return original.apply(database, args);
    });
};

/** The next n transactions are cut off by the browser in the middle: aborted, without a reason. */
export const cutOff = (times) => patched(IDBDatabase.prototype, "transaction", (original, database, args) => {
    const transaction = original.apply(database, args);
    if (times-- > 0) queueMicrotask(() => transaction.abort());
    return transaction;
});

/** Says when requests succeed and transactions complete: counts at the time of asking. */
export const countingCompletes = () => {
    const counts = { completes: 0 };
    const restore = patched(IDBDatabase.prototype, "transaction", (original, database, args) => {
        const transaction = original.apply(database, args);
        transaction.addEventListener("complete", () => counts.completes++);
        return transaction;
    });
    return [restore, () => counts.completes];
};

/** `indexedDB.open` throws, or fails later, or there is no IndexedDB at all. */
export const refusedOpen = (name) => patched(IDBFactory.prototype, "open", () => {
    throw new DOMException("stub", name);
});
export const noIndexedDb = () => {
    const own = Object.getOwnPropertyDescriptor(globalThis, "indexedDB");
    Object.defineProperty(globalThis, "indexedDB", { value: undefined, configurable: true });
    return () => own ? Object.defineProperty(globalThis, "indexedDB", own) : delete globalThis.indexedDB;
};

export const quota = async () => (await navigator.storage?.estimate?.())?.quota ?? Infinity;
export const turn = () => new Promise((resolve) => setTimeout(resolve));
"#)]
extern "C" {
    #[wasm_bindgen(js_name = rawOpen)]
    pub async fn raw_open(name: &str, version: u32, stores: Vec<String>) -> JsValue;
    #[wasm_bindgen(js_name = rawClose)]
    pub fn raw_close(database: &JsValue);
    #[wasm_bindgen(js_name = rawVersion)]
    pub async fn raw_version(name: &str) -> JsValue;
    #[wasm_bindgen(js_name = rawUpgrade)]
    pub async fn raw_upgrade(name: &str, version: u32);
    #[wasm_bindgen(js_name = rawDelete)]
    pub async fn raw_delete(name: &str);
    #[wasm_bindgen(js_name = rawCount)]
    async fn raw_count_js(name: &str, store: &str) -> JsValue;
    #[wasm_bindgen(js_name = rawDamage)]
    pub async fn raw_damage(name: &str, store: &str, damage: &str);
    #[wasm_bindgen(js_name = rawTake)]
    pub async fn raw_take(name: &str, store: &str);
    #[wasm_bindgen(js_name = exportDatabase)]
    pub async fn export_database(name: &str) -> JsValue;
    #[wasm_bindgen(js_name = importDatabase)]
    pub async fn import_database(name: &str, text: &str);
    #[wasm_bindgen(js_name = fullDisk)]
    fn full_disk_js(after: u32) -> Function;
    #[wasm_bindgen(js_name = throwingPut)]
    fn throwing_put_js(after: u32) -> Function;
    #[wasm_bindgen(js_name = failingPut)]
    fn failing_put_js(after: u32) -> Function;
    #[wasm_bindgen(js_name = losingConnection)]
    fn losing_connection_js(times: u32) -> Function;
    #[wasm_bindgen(js_name = clearedData)]
    fn cleared_data_js(name: &str) -> Function;
    #[wasm_bindgen(js_name = cutOff)]
    fn cut_off_js(times: u32) -> Function;
    #[wasm_bindgen(js_name = countingCompletes)]
    fn counting_completes_js() -> Array;
    #[wasm_bindgen(js_name = refusedOpen)]
    fn refused_open_js(name: &str) -> Function;
    #[wasm_bindgen(js_name = noIndexedDb)]
    fn no_indexed_db_js() -> Function;
    #[wasm_bindgen(js_name = quota)]
    async fn quota_js() -> JsValue;
    pub async fn turn();
}

/// A patch of the browser, undone when dropped.
pub struct Patch(Function);

impl Drop for Patch {
    fn drop(&mut self) {
        let _ = self.0.call0(&JsValue::NULL);
    }
}

/// At the n-th put the disk is full, which shows only after all requests have succeeded.
pub fn full_disk(after: u32) -> Patch {
    Patch(full_disk_js(after))
}

/// The n-th put throws on the spot.
pub fn throwing_put(after: u32) -> Patch {
    Patch(throwing_put_js(after))
}

/// The n-th put is refused by a real `ConstraintError`.
pub fn failing_put(after: u32) -> Patch {
    Patch(failing_put_js(after))
}

/// The connection is lost before each of the next transactions.
pub fn losing_connection(times: u32) -> Patch {
    Patch(losing_connection_js(times))
}

/// The site's data are cleared before the next transaction.
pub fn cleared_data(name: &str) -> Patch {
    Patch(cleared_data_js(name))
}

/// The next transactions are cut off by the browser in the middle.
pub fn cut_off(times: u32) -> Patch {
    Patch(cut_off_js(times))
}

/// Opening throws an exception of this name.
pub fn refused_open(name: &str) -> Patch {
    Patch(refused_open_js(name))
}

/// There is no `indexedDB`.
pub fn no_indexed_db() -> Patch {
    Patch(no_indexed_db_js())
}

/// How many transactions have completed while it lives.
pub struct Completes(
    #[expect(dead_code, reason = "undone when dropped")] Patch,
    Function,
);

impl Completes {
    pub fn counting() -> Self {
        let parts = counting_completes_js();
        Self(
            Patch(parts.get(0).unchecked_into()),
            parts.get(1).unchecked_into(),
        )
    }

    pub fn count(&self) -> f64 {
        self.1.call0(&JsValue::NULL).unwrap().as_f64().unwrap()
    }
}

/// How many records a store has.
pub async fn raw_count(name: &str, store: &str) -> f64 {
    raw_count_js(name, store).await.as_f64().unwrap()
}

/// Bytes that this origin may use.
pub async fn quota() -> f64 {
    quota_js().await.as_f64().unwrap()
}
