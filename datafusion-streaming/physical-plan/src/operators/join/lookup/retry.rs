//! A lookup that tries again and gives up.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{filter_record_batch, take};
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_execution::TaskContext;
use futures::future::{Either, select};

use super::batch::evaluated;
use super::{LookupOptions, LookupTable};
use crate::operators::join::side::JoinKeys;
use crate::time::Clock;

/// What a lookup needs, so that it can run in a task of its own.
pub(super) struct Lookups {
    pub table: Arc<dyn LookupTable>,
    pub key_types: Vec<DataType>,
    pub options: LookupOptions,
    pub clock: Arc<dyn Clock>,
    pub context: Arc<TaskContext>,
}

impl Lookups {
    /// The rows of keys, or of all. Of keys that are looked up again it is the rows of the last time.
    ///
    /// # Errors
    /// If the lookup fails, or takes longer than it may.
    pub(super) async fn rows(self, keys: Option<Vec<ArrayRef>>) -> Result<Vec<RecordBatch>> {
        let (Some(timeout), Some(_)) = (self.options.timeout, &keys) else { return self.found(keys).await };
        let clock = Arc::clone(&self.clock);
        let name = self.table.name().to_string();
        let deadline = clock.sleep_until(clock.now().saturating_add(timeout));
        let rows = std::pin::pin!(self.found(keys));
        match select(rows, deadline).await {
            Either::Left((rows, _)) => rows,
            Either::Right(_) => exec_err!(
                "a lookup in table '{name}' has taken longer than {timeout} ms; give it more with 'timeout' in the hint \
                 LOOKUP, or for all tables with 'table.exec.async-lookup.timeout'"
            ),
        }
    }

    async fn found(&self, keys: Option<Vec<ArrayRef>>) -> Result<Vec<RecordBatch>> {
        let mut found = self.table.lookup(keys.clone(), Arc::clone(&self.context)).await?;
        let (Some(retry), Some(mut keys)) = (self.options.retry, keys) else { return Ok(found) };
        // the rows of the last lookup, which tell what it did not find
        let mut last = 0;
        for _ in 0..retry.attempts {
            keys = self.without_rows(&keys, &found[last..])?;
            if keys.first().is_none_or(|column| column.is_empty()) {
                break;
            }
            self.clock.sleep_until(self.clock.now().saturating_add(retry.delay)).await;
            last = found.len();
            for batch in self.table.lookup(Some(keys.clone()), Arc::clone(&self.context)).await? {
                found.push(self.of_keys(&keys, batch)?);
            }
        }
        Ok(found)
    }

    fn interned(&self, keys: &[ArrayRef]) -> Result<(JoinKeys, usize)> {
        let mut known = JoinKeys::try_new(&self.key_types, false)?;
        known.slots_of(keys, keys.first().map_or(0, |column| column.len()))?;
        let count = known.slots();
        Ok((known, count))
    }

    /// Those of the keys, which are all different, that have no rows.
    fn without_rows(&self, keys: &[ArrayRef], found: &[RecordBatch]) -> Result<Vec<ArrayRef>> {
        let (mut known, count) = self.interned(keys)?;
        let mut has_rows = vec![false; count];
        for batch in found {
            for slot in known.slots_of(&evaluated(self.table.keys(), batch)?, batch.num_rows())? {
                if let Some(has_rows) = has_rows.get_mut(slot as usize) {
                    *has_rows = true;
                }
            }
        }
        let missing = (0..count as u32).filter(|slot| !has_rows[*slot as usize]);
        let missing = UInt32Array::from_iter_values(missing);
        keys.iter().map(|column| Ok(take(column, &missing, None)?)).collect()
    }

    /// The rows of a batch that are of these keys: rows of others, which have theirs, may have come along.
    fn of_keys(&self, keys: &[ArrayRef], batch: RecordBatch) -> Result<RecordBatch> {
        let (mut known, count) = self.interned(keys)?;
        let slots = known.slots_of(&evaluated(self.table.keys(), &batch)?, batch.num_rows())?;
        let mask: BooleanArray = slots.iter().map(|slot| Some((*slot as usize) < count)).collect();
        Ok(filter_record_batch(&batch, &mask)?)
    }
}
