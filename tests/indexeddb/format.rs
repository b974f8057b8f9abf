//! Databases that a released format wrote. Files in `tests/fixtures/indexeddb` are never made anew.
