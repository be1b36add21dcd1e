//! What a policy keeps from one decision to the next, behind `wasi:keyvalue/store`.
//!
//! Each loaded policy has a store of its own, in memory, and sees no other. All its decisions share it, also those that run
//! at the same time: what one wrote stays, also where its decision failed afterwards.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wasmtime::component::Resource;

use super::limits::Limits;
use super::policy::State;
use super::wire::keyvalue::{Error, Host, HostBucket, KeyResponse};

/// The one bucket that there is goes by these names.
const BUCKETS: [&str; 2] = ["", "default"];

/// How many keys a page of `list-keys` has.
const PAGE_KEYS: usize = 100;

/// How many bytes of keys a page has at the most, unless a single key is longer.
const PAGE_BYTES: usize = 64 << 10;

/// An opened bucket. There is one store only, so it holds nothing.
pub struct Bucket;

/// The store of one loaded policy.
pub(super) struct Memory {
    max_bytes: usize,
    max_keys: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    entries: BTreeMap<String, Vec<u8>>,
    /// Of all keys and values.
    bytes: usize,
}

impl Memory {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            max_bytes: limits.state_bytes,
            max_keys: limits.state_keys,
            kept: Mutex::default(),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.kept().entries.get(key).cloned()
    }

    fn contains(&self, key: &str) -> bool {
        self.kept().entries.contains_key(key)
    }

    /// Where it would go beyond a limit it changes nothing.
    fn set(&self, key: String, value: Vec<u8>) -> Result<(), String> {
        let mut kept = self.kept();
        let old = kept.entries.get(&key).map(Vec::len);
        if old.is_none() && kept.entries.len() >= self.max_keys {
            return Err(format!(
                "the state has {} keys, and its limit `state-keys` is {}",
                kept.entries.len(),
                self.max_keys
            ));
        }
        let before = old.map_or(0, |value| key.len() + value);
        let wanted = (kept.bytes - before)
            .saturating_add(key.len())
            .saturating_add(value.len());
        if wanted > self.max_bytes {
            return Err(format!(
                "the state would have {wanted} bytes, and its limit `state-bytes` is {}",
                self.max_bytes
            ));
        }
        kept.bytes = wanted;
        kept.entries.insert(key, value);
        Ok(())
    }

    fn delete(&self, key: &str) {
        let mut kept = self.kept();
        if let Some(value) = kept.entries.remove(key) {
            kept.bytes -= key.len() + value.len();
        }
    }

    /// The keys after one, which need not be there any more, and whether these are the last.
    fn keys_after(&self, after: Option<&str>) -> (Vec<String>, bool) {
        let kept = self.kept();
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut keys = Vec::new();
        let mut bytes = 0;
        for key in kept
            .entries
            .range::<str, _>((start, Bound::Unbounded))
            .map(|(key, _)| key)
        {
            bytes += key.len();
            if keys.len() == PAGE_KEYS || (bytes > PAGE_BYTES && !keys.is_empty()) {
                return (keys, false);
            }
            keys.push(key.clone());
        }
        (keys, true)
    }
}

impl State {
    /// The store behind a handle.
    fn bucket(&self, bucket: &Resource<Bucket>) -> wasmtime::Result<&Memory> {
        self.table.get(bucket)?;
        Ok(&self.memory)
    }
}

impl Host for State {
    async fn open(
        &mut self,
        identifier: String,
    ) -> wasmtime::Result<Result<Resource<Bucket>, Error>> {
        if !BUCKETS.contains(&identifier.as_str()) {
            return Ok(Err(Error::NoSuchStore));
        }
        Ok(Ok(self.table.push(Bucket)?))
    }
}

impl HostBucket for State {
    async fn get(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
    ) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        Ok(Ok(self.bucket(&bucket)?.get(&key)))
    }

    async fn set(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        value: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Error>> {
        Ok(self.bucket(&bucket)?.set(key, value).map_err(Error::Other))
    }

    async fn delete(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
    ) -> wasmtime::Result<Result<(), Error>> {
        self.bucket(&bucket)?.delete(&key);
        Ok(Ok(()))
    }

    async fn exists(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
    ) -> wasmtime::Result<Result<bool, Error>> {
        Ok(Ok(self.bucket(&bucket)?.contains(&key)))
    }

    async fn list_keys(
        &mut self,
        bucket: Resource<Bucket>,
        cursor: Option<String>,
    ) -> wasmtime::Result<Result<KeyResponse, Error>> {
        let (keys, last) = self.bucket(&bucket)?.keys_after(cursor.as_deref());
        // A page is empty only where it is the last one, so a cursor always gets on.
        let cursor = if last { None } else { keys.last().cloned() };
        Ok(Ok(KeyResponse { keys, cursor }))
    }

    async fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(state_bytes: usize, state_keys: usize) -> Memory {
        Memory::new(&Limits {
            state_bytes,
            state_keys,
            ..Limits::default()
        })
    }

    #[test]
    fn bytes_are_counted_over_keys_and_values_through_every_change() {
        let memory = memory(10, 100);
        memory.set("ab".to_owned(), vec![1; 4]).unwrap();
        memory.set("cd".to_owned(), vec![2; 2]).unwrap();
        let refused = memory.set("e".to_owned(), Vec::new()).unwrap_err();
        assert_eq!(
            refused,
            "the state would have 11 bytes, and its limit `state-bytes` is 10"
        );
        // In place of the old value, not beside it.
        memory.set("ab".to_owned(), vec![3; 4]).unwrap();
        memory.set("ab".to_owned(), vec![4; 5]).unwrap_err();
        assert_eq!(memory.get("ab"), Some(vec![3; 4]));
        memory.delete("cd");
        memory.delete("cd");
        memory.set("ab".to_owned(), vec![5; 8]).unwrap();
        assert_eq!(memory.kept().bytes, 10);
        assert!(!memory.contains("cd"));
    }

    #[test]
    fn keys_are_counted_and_a_known_one_can_be_set_again() {
        let memory = memory(1_000, 2);
        for key in ["a", "b", "a"] {
            memory.set(key.to_owned(), Vec::new()).unwrap();
        }
        assert_eq!(
            memory.set("c".to_owned(), Vec::new()).unwrap_err(),
            "the state has 2 keys, and its limit `state-keys` is 2"
        );
    }

    #[test]
    fn pages_have_every_key_once_and_get_on_over_one_that_is_gone() {
        let memory = memory(1 << 20, 1_000);
        for number in 0..250 {
            memory.set(format!("{number:03}"), Vec::new()).unwrap();
        }
        let (first, last) = memory.keys_after(None);
        assert_eq!((first.len(), last), (PAGE_KEYS, false));
        memory.delete("099");
        let (second, last) = memory.keys_after(Some("099"));
        assert_eq!((second[0].as_str(), last), ("100", false));
        let (third, last) = memory.keys_after(Some("199"));
        assert_eq!((third.len(), last), (50, true));
        assert_eq!(memory.keys_after(Some("249")), (Vec::new(), true));
    }

    #[test]
    fn a_page_is_bounded_in_bytes_and_never_empty_before_the_last() {
        let memory = memory(1 << 20, 1_000);
        for letter in ["a", "b", "c"] {
            memory
                .set(letter.repeat(PAGE_BYTES + 1), Vec::new())
                .unwrap();
        }
        let (keys, last) = memory.keys_after(None);
        assert_eq!((keys.len(), last), (1, false));
    }
}
