use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray,
    StringViewArray, TimestampMillisecondArray,
};
use arrow::datatypes::{DataType, Int64Type, TimestampMillisecondType};
use datafusion_common::Result;

use super::KeyInterner;

fn interner(columns: &[ArrayRef]) -> Result<KeyInterner> {
    KeyInterner::try_new(&columns.iter().map(|column| column.data_type().clone()).collect::<Vec<_>>())
}

fn intern(keys: &mut KeyInterner, columns: &[ArrayRef]) -> Result<Vec<u32>> {
    let mut slots = vec![];
    keys.intern(columns, columns.first().map_or(0, |column| column.len()), &mut slots)?;
    Ok(slots)
}

/// Interns twice, releases the first key, interns again, and reads the keys back.
fn check_life(columns: Vec<ArrayRef>, expected: &[u32]) -> Result<()> {
    let mut keys = interner(&columns)?;
    assert_eq!(intern(&mut keys, &columns)?, expected);
    assert_eq!(intern(&mut keys, &columns)?, expected);
    let read = keys.columns(expected)?;
    for (read, column) in read.iter().zip(&columns) {
        assert_eq!(format!("{read:?}"), format!("{column:?}"));
        assert_eq!(read.data_type(), column.data_type());
    }
    keys.release(&[0]);
    assert_eq!(keys.live_slots(), (1..keys.slots() as u32).collect::<Vec<_>>());
    assert_eq!(intern(&mut keys, &columns)?, expected, "the released slot is used again");
    assert!(keys.memory_size() > 0);
    Ok(())
}

#[test]
fn every_layout_gives_dense_slots_and_takes_them_back() -> Result<()> {
    let ints: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(0), Some(7), None]));
    let small: ArrayRef = Arc::new(Int32Array::from(vec![-1, -1, 5, -1, -1]));
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true), None]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some(""), Some("a"), None]));
    let views: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), None, Some(""), Some("a"), None]));
    let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![1, 2, 3, 1, 2]).with_timezone("UTC"));
    let money: ArrayRef = Arc::new(
        Decimal128Array::from(vec![Some(1), None, Some(2), Some(1), None]).with_precision_and_scale(38, 2)?,
    );
    let slots = [0, 1, 2, 0, 1];
    check_life(vec![Arc::clone(&ints)], &slots)?;
    check_life(vec![flags], &slots)?;
    check_life(vec![Arc::clone(&texts)], &slots)?;
    check_life(vec![views], &slots)?;
    check_life(vec![Arc::clone(&times)], &slots)?;
    check_life(vec![money], &slots)?;
    check_life(vec![Arc::clone(&ints), small], &slots)?;
    check_life(vec![ints, texts, times], &slots)
}

#[test]
fn nulls_that_come_late_do_not_shift_what_was_there() -> Result<()> {
    let plain: ArrayRef = Arc::new(Int64Array::from(vec![0, 1]));
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(0), Some(1)]));
    let mut keys = interner(std::slice::from_ref(&plain))?;
    assert_eq!(intern(&mut keys, &[plain])?, [0, 1]);
    assert_eq!(intern(&mut keys, &[nulls])?, [2, 0, 1]);
    Ok(())
}

#[test]
fn nans_are_one_key_and_zeros_are_two() -> Result<()> {
    let odd = f64::from_bits(0x7ff8_0000_0000_0001);
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, -f64::NAN, odd, 0.0, -0.0]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"; 5]));
    let slots = [0, 0, 0, 1, 2];
    assert_eq!(intern(&mut interner(std::slice::from_ref(&floats))?, &[Arc::clone(&floats)])?, slots);
    let both = [floats, texts];
    assert_eq!(intern(&mut interner(&both)?, &both)?, slots);
    Ok(())
}

#[test]
fn the_arena_of_released_keys_is_given_back() -> Result<()> {
    let mut keys = KeyInterner::try_new(&[arrow::datatypes::DataType::Utf8])?;
    for round in 0..50 {
        let texts: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..1000).map(|i| format!("{round:0>50}-{i}"))));
        let slots = intern(&mut keys, &[texts])?;
        keys.release(&slots);
    }
    assert_eq!(keys.slots(), 1000);
    assert!(keys.memory_size() < 400_000, "{}", keys.memory_size());
    Ok(())
}

#[test]
fn no_key_is_the_one_group() -> Result<()> {
    let mut keys = KeyInterner::try_new(&[])?;
    let mut slots = vec![];
    keys.intern(&[], 3, &mut slots)?;
    assert_eq!(slots, [0, 0, 0]);
    assert_eq!((keys.slots(), keys.live_slots()), (1, vec![0]));
    Ok(())
}

/// Random keys in windows that open and close, against a map.
#[test]
fn keys_of_windows_are_found_until_their_window_closes() -> Result<()> {
    let mut keys = KeyInterner::of_windows(&[DataType::Int64])?;
    let mut model = BTreeMap::<(i64, i64), u32>::new();
    let mut random = 7u64;
    let mut next = |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as i64 % bound as i64
    };
    for round in 0..60 {
        let rows: Vec<(i64, i64)> = (0..400).map(|_| (round * 100 + next(3_000), round + next(5))).collect();
        let columns: [ArrayRef; 2] = [
            Arc::new(rows.iter().map(|row| Some(row.0)).collect::<Int64Array>()),
            Arc::new(TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.1))),
        ];
        for (row, slot) in rows.iter().zip(intern(&mut keys, &columns)?) {
            assert_eq!(*model.entry(*row).or_insert(slot), slot);
        }
        let mut slots: Vec<u32> = model.values().copied().collect();
        let read = keys.columns(&slots)?;
        let expected: Vec<i64> = model.keys().map(|row| row.0).collect();
        assert_eq!(read[0].as_primitive::<Int64Type>().values(), expected.as_slice());
        let expected: Vec<i64> = model.keys().map(|row| row.1).collect();
        assert_eq!(read[1].as_primitive::<TimestampMillisecondType>().values(), expected.as_slice());
        slots.sort_unstable();
        assert_eq!(keys.live_slots(), slots);
        // the keys of the first window in another, and away again
        let first: Vec<u32> = model.iter().filter(|(row, _)| row.1 == round).map(|(_, slot)| *slot).collect();
        let merged = keys.in_window(&first, -1)?;
        assert_eq!(keys.in_window(&first, round)?, first);
        keys.release(&merged);
        keys.release(&first);
        model.retain(|row, _| row.1 != round);
    }
    Ok(())
}

#[test]
fn closed_windows_leave_no_memory() -> Result<()> {
    let mut keys = KeyInterner::of_windows(&[DataType::Int64])?;
    let mut sizes = vec![];
    for window in 0..1_000i64 {
        let numbers = (0..2_000).map(|row| window * 2_000 + row);
        let columns: [ArrayRef; 2] = [
            Arc::new(Int64Array::from_iter_values(numbers)),
            Arc::new(TimestampMillisecondArray::from_iter_values(std::iter::repeat_n(window, 2_000))),
        ];
        let slots = intern(&mut keys, &columns)?;
        keys.release(&slots);
        sizes.push(keys.memory_size());
    }
    assert_eq!(sizes[999], sizes[9]);
    Ok(())
}

/// Numbers that lie close together, far apart and close together again, NULLs among them at the end, against a
/// map.
#[test]
fn numbers_are_found_however_far_they_lie_apart() -> Result<()> {
    let mut keys = KeyInterner::try_new(&[DataType::Int64])?;
    let mut model = BTreeMap::<Option<i64>, u32>::new();
    let mut random = 11u64;
    let mut next = |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as i64 % bound as i64
    };
    for round in 0..200 {
        let number = |spread: i64| match round {
            0..40 => round * 40 + spread % 500,
            40..80 => spread * 1_000_003 - (1 << 40),
            80..160 => spread % 50_000,
            _ => i64::MIN + spread,
        };
        let rows: Vec<Option<i64>> =
            (0..300).map(|_| Some(number(next(2_000_000))).filter(|_| round < 190 || next(3) > 0)).collect();
        let column: ArrayRef = Arc::new(rows.iter().copied().collect::<Int64Array>());
        for (row, slot) in rows.iter().zip(intern(&mut keys, &[column])?) {
            assert_eq!(*model.entry(*row).or_insert(slot), slot, "{row:?} in round {round}");
        }
        let slots: Vec<u32> = model.values().copied().collect();
        let read = keys.columns(&slots)?;
        let read: Vec<_> = read[0].as_primitive::<Int64Type>().iter().collect();
        assert_eq!(read, model.keys().copied().collect::<Vec<_>>());
        // some keys go; between the phases nearly all
        let keeps = if round % 40 == 39 { 500 } else { 7 };
        let gone: Vec<_> =
            model.keys().copied().filter(|_| next(keeps) != 0 || keeps == 7 && next(2) == 0).collect();
        let gone: Vec<_> = if keeps == 7 { gone.into_iter().take(60).collect() } else { gone };
        let slots: Vec<u32> = gone.iter().filter_map(|key| model.remove(key)).collect();
        keys.release(&slots);
        let mut live: Vec<u32> = model.values().copied().collect();
        live.sort_unstable();
        assert_eq!(keys.live_slots(), live);
    }
    Ok(())
}

#[test]
fn numbers_close_together_take_few_bytes_whatever_the_order_they_come_in() -> Result<()> {
    let count = 200_000u64;
    let (mut spread, mut close) =
        (KeyInterner::try_new(&[DataType::Int64])?, KeyInterner::try_new(&[DataType::Int64])?);
    for start in (0..count).step_by(4_000) {
        // a permutation: at first the keys seem to be far apart
        let numbers = (start..start + 4_000).map(|i| (i * 7_919 % count) as i64);
        let far = numbers.clone().map(|number| number * 1_000_003);
        intern(&mut close, &[Arc::new(Int64Array::from_iter_values(numbers))])?;
        intern(&mut spread, &[Arc::new(Int64Array::from_iter_values(far))])?;
    }
    assert_eq!((close.slots(), spread.slots()), (200_000, 200_000));
    assert!(close.memory_size() < spread.memory_size(), "{} {}", close.memory_size(), spread.memory_size());
    Ok(())
}
