//! A store that a command uses: it is closed however the command ends.

use crate::failure::notify;
use flashlane_open::{AnyKeyValueStore, AnyStore};
use flashlane_store::Durability;
use std::ops::{Deref, DerefMut};

/// An opened store.
pub struct OpenedStore(Option<AnyKeyValueStore>);

impl OpenedStore {
    /// Chooses how safe writes are when they return.
    pub fn with_durability(mut self, durability: Durability) -> Self {
        Self(self.0.take().map(|store| store.with_durability(durability)))
    }

    /// Returns the store to a caller that closes it.
    pub fn into_store(mut self) -> AnyStore {
        self.0.take().expect("it is taken once").into_store()
    }
}

impl From<AnyKeyValueStore> for OpenedStore {
    fn from(store: AnyKeyValueStore) -> Self {
        Self(Some(store))
    }
}

impl Deref for OpenedStore {
    type Target = AnyKeyValueStore;

    fn deref(&self) -> &AnyKeyValueStore {
        self.0.as_ref().expect("it is not taken")
    }
}

impl DerefMut for OpenedStore {
    fn deref_mut(&mut self) -> &mut AnyKeyValueStore {
        self.0.as_mut().expect("it is not taken")
    }
}

impl Drop for OpenedStore {
    fn drop(&mut self) {
        // What was acknowledged is as safe as the command said; only the mark is missing.
        if let Some(Err(failure)) = self.0.as_mut().map(AnyKeyValueStore::close) {
            notify(&format!("warning: the end of the store's log is not marked: {failure}"));
        }
    }
}
