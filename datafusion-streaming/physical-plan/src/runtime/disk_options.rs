//! How much state a partition keeps in memory, and where the rest goes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_execution::disk_manager::DiskManager;
use datafusion_execution::memory_pool::{MemoryLimit, MemoryPool};
use parking_lot::Mutex;

use crate::config::{StateBackend, StreamingOptions};
use crate::state::disk::{KeyStore, StoreFolder};

/// The options of state on disk.
#[derive(Debug, Clone)]
pub(super) struct DiskOptions {
    place: Place,
    /// How many bytes of tables a partition keeps in memory; `None`: by its share of the pool.
    resident_bytes: Option<usize>,
}

#[derive(Debug, Clone)]
enum Place {
    Folder(PathBuf),
    Temporary(Arc<DiskManager>),
}

/// What one store keeps of its files in memory.
const CACHE_BYTES: std::ops::RangeInclusive<usize> = 64 << 10..=64 << 20;

impl DiskOptions {
    /// The options of a session; `None` if its state is in memory.
    pub(super) fn of(context: &TaskContext) -> Option<Self> {
        let options = StreamingOptions::of(context.session_config().options());
        if options.state_backend == StateBackend::Hashmap {
            return None;
        }
        let place = match options.state_local_dir.as_str() {
            "" => Place::Temporary(Arc::clone(&context.runtime_env().disk_manager)),
            folder => Place::Folder(PathBuf::from(folder)),
        };
        Some(DiskOptions { place, resident_bytes: options.state_resident_bytes })
    }

    /// How many bytes of tables a partition keeps in memory. Of its share of the pool two fifths, since what
    /// it lets go of is copied, and the store has a cache.
    pub(super) fn budget(&self, share: &PoolShare) -> usize {
        self.resident_bytes.unwrap_or_else(|| match share.bytes() {
            usize::MAX => usize::MAX,
            bytes => bytes / 5 * 2,
        })
    }

    /// Whether all keys leave the memory with every batch.
    pub(super) fn keeps_nothing(&self) -> bool {
        self.resident_bytes == Some(0)
    }

    /// A new store in a folder of its own, which goes with the store.
    pub(super) fn open(&self, share: &PoolShare) -> Result<KeyStore> {
        let cache = (self.budget(share) / 4).clamp(*CACHE_BYTES.start(), *CACHE_BYTES.end());
        KeyStore::open(self.folder()?, cache)
    }

    fn folder(&self) -> Result<StoreFolder> {
        match &self.place {
            Place::Folder(folder) => StoreFolder::below(folder),
            Place::Temporary(disk) => StoreFolder::temporary(disk),
        }
    }
}

/// How many partitions share each pool, by the pool's address.
static SHARED: LazyLock<Mutex<HashMap<usize, usize>>> = LazyLock::new(Mutex::default);

/// A partition that shares a memory pool with others whose state goes to disk.
pub(super) struct PoolShare {
    pool: Arc<dyn MemoryPool>,
}

impl PoolShare {
    pub(super) fn of(pool: &Arc<dyn MemoryPool>) -> Self {
        let share = PoolShare { pool: Arc::clone(pool) };
        *SHARED.lock().entry(share.address()).or_default() += 1;
        share
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.pool).cast::<()>() as usize
    }

    /// The bytes that a partition may use; `usize::MAX` if the pool has no limit.
    fn bytes(&self) -> usize {
        match self.pool.memory_limit() {
            MemoryLimit::Finite(bytes) => {
                bytes / SHARED.lock().get(&self.address()).copied().unwrap_or(1).max(1)
            }
            MemoryLimit::Infinite | MemoryLimit::Unknown => usize::MAX,
        }
    }
}

impl Drop for PoolShare {
    fn drop(&mut self) {
        let mut shared = SHARED.lock();
        if let Some(count) = shared.get_mut(&self.address()) {
            *count -= 1;
            if *count == 0 {
                shared.remove(&self.address());
            }
        }
    }
}
