use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, ListArray, RecordBatch, StringArray, UInt16Array};
use arrow::datatypes::Int64Type;
use datafusion_common::Result;

use super::{KeyStore, RowCodec, StoreFolder, Timeline, expiry_of, push_row, rows_of_entry};
use crate::state::key_group::{MAX_PARALLELISM, key_ids};

fn store() -> Result<KeyStore> {
    KeyStore::open(StoreFolder::new(tempfile::tempdir()?, None), 1 << 20)
}

/// The values of some keys, which are entries of one row each.
fn values(store: &KeyStore, ids: &[u64]) -> Result<BTreeMap<u64, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut entries = vec![];
    store.read(ids, |id, entry| entries.push((id, entry)))?;
    for (id, entry) in &entries {
        rows_of_entry(entry, |table, row| {
            assert_eq!(table, 3);
            found.insert(*id, row.to_vec());
        })?;
    }
    Ok(found)
}

fn entry(row: &[u8]) -> Vec<u8> {
    let mut entry = vec![];
    push_row(&mut entry, 3, row);
    entry
}

/// Ids that look like those of keys.
fn ids(count: i64) -> Result<Vec<u64>> {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
    let mut ids = key_ids(&[keys], count as usize)?;
    ids.sort_unstable();
    Ok(ids)
}

#[test]
fn it_answers_as_a_map_does_however_often_it_is_loaded() -> Result<()> {
    let mut store = store()?;
    let all = ids(2_000)?;
    let mut model: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut random = 1u64;
    for load in 0..40u64 {
        let mut writer = store.load()?;
        for id in &all {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            match random >> 60 {
                0 | 1 => {
                    let value = format!("{id} at {load}").into_bytes();
                    writer.put(*id, i64::MAX, &entry(&value))?;
                    model.insert(*id, value);
                }
                2 => {
                    writer.remove(*id)?;
                    model.remove(id);
                }
                _ => {}
            }
        }
        writer.finish()?;
        store.compact(0)?;
        assert_eq!(values(&store, &all)?, model, "after load {load}");
    }
    store.finish_compaction()?;
    assert_eq!(values(&store, &all)?, model);
    assert_eq!(values(&store, &[7])?, BTreeMap::new());
    Ok(())
}

#[test]
fn a_view_stays_as_it_was() -> Result<()> {
    let mut store = store()?;
    let all = ids(300)?;
    let load = |store: &mut KeyStore, value: &str| -> Result<()> {
        let mut writer = store.load()?;
        all.iter().try_for_each(|id| writer.put(*id, i64::MAX, &entry(value.as_bytes())))?;
        writer.finish()?;
        store.compact(0)
    };
    load(&mut store, "old")?;
    let view = store.view();
    for _ in 0..20 {
        load(&mut store, "new")?;
        store.finish_compaction()?;
    }
    let mut seen = 0;
    for group in 0..MAX_PARALLELISM as u16 {
        let mut entries = vec![];
        view.for_each(group..group + 1, |entry| entries.push(entry))?;
        for entry in &entries {
            rows_of_entry(entry, |_, row| assert_eq!(row, b"old"))?;
        }
        seen += entries.len();
    }
    assert_eq!(seen, all.len());
    assert!(values(&store, &all)?.values().all(|value| value == b"new"));
    Ok(())
}

#[test]
fn timers_come_in_the_order_of_their_times() -> Result<()> {
    let mut store = store()?;
    let all = ids(5)?;
    for times in [[-7, 3, 3, 3, 90], [-8, -7, 4, 5, 6]] {
        let mut writer = store.load()?;
        for (time, id) in times.iter().zip(&all) {
            writer.timer(Timeline::Watermark, *time, *id)?;
        }
        writer.timer(Timeline::ProcessingTime, 1, all[0])?;
        writer.finish()?;
    }
    let due = |after, until| store.due(Timeline::Watermark, after, until, 3);
    let first = due((i64::MIN, 0), 4)?;
    assert_eq!(first, [(-8, all[0]), (-7, all[0]), (-7, all[1])]);
    assert_eq!(due((-7, all[1]), 4)?, [(3, all[1]), (3, all[2]), (3, all[3])]);
    assert_eq!(due((3, all[3]), 4)?, [(4, all[2])]);
    assert_eq!(due((4, all[2]), 4)?, []);
    assert_eq!(store.due(Timeline::ProcessingTime, (i64::MIN, 0), 9, 9)?, [(1, all[0])]);
    // those that have been dealt with go when files are merged
    store.fired(Timeline::Watermark, 5);
    for _ in 0..8 {
        let mut writer = store.load()?;
        writer.timer(Timeline::Watermark, 50, all[0])?;
        writer.finish()?;
        store.compact(0)?;
        store.finish_compaction()?;
    }
    let left = store.due(Timeline::Watermark, (i64::MIN, 0), i64::MAX, 99)?;
    assert_eq!(left, [(6, all[4]), (50, all[0]), (90, all[4])]);
    Ok(())
}

#[test]
fn what_has_expired_goes_when_files_are_merged() -> Result<()> {
    let mut store = store()?;
    let all = ids(100)?;
    for _ in 0..4 {
        let mut writer = store.load()?;
        for (number, id) in (0..).zip(&all) {
            writer.put(*id, number, &entry(b"x"))?;
        }
        writer.finish()?;
    }
    let mut expiries = vec![];
    store.read(&all, |_, entry| expiries.push(expiry_of(&entry)))?;
    assert_eq!(expiries, (0..100).collect::<Vec<i64>>());
    store.compact(49)?;
    store.finish_compaction()?;
    assert_eq!(values(&store, &all)?.len(), 50);
    Ok(())
}

#[test]
fn the_folder_goes_with_the_last_that_uses_it() -> Result<()> {
    let mut store = store()?;
    let mut writer = store.load()?;
    writer.put(1, i64::MAX, &entry(b"x"))?;
    writer.finish()?;
    store.compact(0)?;
    let (folder, view) = (store.folder(), store.view());
    drop(store);
    assert!(folder.exists());
    let mut entries = 0;
    view.for_each(0..MAX_PARALLELISM as u16, |_| entries += 1)?;
    assert_eq!(entries, 1);
    drop(view);
    assert!(!folder.exists());
    Ok(())
}

#[test]
fn rows_come_back_as_they_were() -> Result<()> {
    let groups: ArrayRef = Arc::new(UInt16Array::from(vec![0, 0, 0]));
    let keys: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("")]));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]));
    let saved = RecordBatch::try_from_iter_with_nullable([
        ("key_group", groups, false),
        ("k", keys, true),
        ("l", lists, true),
    ])?;
    let codec = RowCodec::try_new(&saved.slice(0, 0), vec![0])?;
    let rows = saved.project(&[1, 2])?;
    let encoded = codec.encode(&rows)?;
    let bytes: Vec<&[u8]> = encoded.iter().map(|row| row.data()).collect();
    assert_eq!(codec.decode(&bytes)?, rows);
    assert_eq!(codec.decode(&[bytes[2], bytes[0]])?.column(0).as_string::<i32>().value(1), "a");
    assert_eq!(codec.key_ids(&rows)?, key_ids(&[Arc::clone(rows.column(0))], 3)?);
    assert!(rows_of_entry(&[0; 11], |_, _| {}).is_err(), "an entry that is cut short");
    Ok(())
}
