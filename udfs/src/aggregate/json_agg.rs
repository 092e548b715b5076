//! JSON_ARRAYAGG and JSON_OBJECTAGG.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::{Result, exec_err, plan_err};
use datafusion_expr::{Expr, ScalarUDF};

use super::cells::{CellState, Cells};
use super::column::{grow_with, state_column, vec_size};
use super::entries::{EntryLists, entry_lists, list_type};
use super::lists::{Form, List, Lists};
use super::members::Text;
use super::signature::storage_type;
use super::text::{TextOutput, TextValues, is_text};
use super::{AggregateArgs, AggregateState, StreamingAggregate};
use crate::json;
use crate::scalar::JsonString;

/// The functions whose result is JSON rather than text that is quoted in JSON.
const JSON_FUNCTIONS: [&str; 5] = ["json", "json_array", "json_object", "json_query", "json_string"];

/// What becomes of a NULL in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnNull {
    /// `NULL ON NULL`: it is written.
    Null,
    /// `ABSENT ON NULL`: it is left out.
    Absent,
}

/// `JSON_ARRAYAGG(value [NULL | ABSENT ON NULL])`: the values of a group as a JSON array in the order of
/// their arrival. A retraction takes the first of equal values.
///
/// It is planned as `json_arrayagg_null_on_null` or `json_arrayagg_absent_on_null`, and its argument as
/// JSON text.
#[derive(Debug)]
pub struct JsonArrayAgg(pub OnNull);

/// `JSON_OBJECTAGG([KEY] key VALUE value [NULL | ABSENT ON NULL])`: the keys and values of a group as a
/// JSON object, sorted by the UTF-16 code units of the keys. A key that is there already, or NULL,
/// fails the query.
///
/// It is planned as `json_objectagg_null_on_null` or `json_objectagg_absent_on_null`, and its value as
/// JSON text.
#[derive(Debug)]
pub struct JsonObjectAgg(pub OnNull);

/// The argument at `index` as JSON text; `None` if it is already.
fn as_json(args: &[Expr], index: usize) -> Option<Vec<Expr>> {
    let arg = args.get(index)?;
    let mut value = arg;
    while let Expr::Alias(alias) = value {
        value = &alias.expr;
    }
    if let Expr::ScalarFunction(call) = value
        && JSON_FUNCTIONS.contains(&call.name())
    {
        return None;
    }
    let mut args = args.to_vec();
    args[index] = ScalarUDF::from(JsonString::default()).call(vec![arg.clone()]);
    Some(args)
}

impl StreamingAggregate for JsonArrayAgg {
    fn name(&self) -> &str {
        match self.0 {
            OnNull::Null => "json_arrayagg_null_on_null",
            OnNull::Absent => "json_arrayagg_absent_on_null",
        }
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [value] => json::check_type(value).map(|()| vec![storage_type(value).clone()]),
            _ => plan_err!("JSON_ARRAYAGG takes one argument"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn rewrite_args(&self, args: &[Expr]) -> Option<Vec<Expr>> {
        as_json(args, 0)
    }

    fn state(&self, _: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        CellState::boxed(Lists::new(Text, JsonArray { on_null: self.0 }, &DataType::Utf8))
    }
}

#[derive(Debug)]
struct JsonArray {
    on_null: OnNull,
}

impl Form<Text> for JsonArray {
    type Output = TextOutput;

    const BY_VALUE: bool = false;

    fn values(&mut self, args: &[ArrayRef]) -> Result<ArrayRef> {
        json_text(state_column(args, 0)?)
    }

    fn takes_nulls(&self) -> bool {
        self.on_null == OnNull::Null
    }

    fn output(&self, _: &Text, len: usize) -> TextOutput {
        TextOutput::with_capacity(len)
    }

    fn push(&self, _: &Text, list: &List<Box<str>>, output: &mut TextOutput) {
        output.append("[");
        for (index, value) in list.values.iter().enumerate() {
            if index > 0 {
                output.append(",");
            }
            output.append(value.as_deref().unwrap_or("null"));
        }
        output.append("]");
        output.end();
    }

    fn finish(&self, _: &Text, output: TextOutput) -> Result<ArrayRef> {
        output.finish(&DataType::Utf8)
    }
}

/// Values as JSON text: texts are JSON already, for so they are planned.
fn json_text(values: &ArrayRef) -> Result<ArrayRef> {
    if is_text(values.data_type()) { Ok(Arc::clone(values)) } else { json::json_strings(values) }
}

impl StreamingAggregate for JsonObjectAgg {
    fn name(&self) -> &str {
        match self.0 {
            OnNull::Null => "json_objectagg_null_on_null",
            OnNull::Absent => "json_objectagg_absent_on_null",
        }
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [key, value] if is_text(storage_type(key)) => {
                json::check_type(value).map(|()| vec![DataType::Utf8, storage_type(value).clone()])
            }
            _ => plan_err!("JSON_OBJECTAGG takes a key, which is a STRING, and a value"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn rewrite_args(&self, args: &[Expr]) -> Option<Vec<Expr>> {
        as_json(args, 1)
    }

    fn state(&self, _: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        let (objects, owned, changes, error) = (Vec::new(), 0, 0, None);
        CellState::boxed(JsonObjects { on_null: self.0, objects, owned, changes, error })
    }
}

/// A key in the order of its UTF-16 code units.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key(Box<str>);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.encode_utf16().cmp(other.0.encode_utf16())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A value as JSON text, `None` for NULL.
type Value = Option<Box<str>>;

/// The object of a group.
#[derive(Debug, Default)]
struct Object {
    entries: BTreeMap<Key, Value>,
    /// Entries that were taken and are not there. They only count when states are merged: then they
    /// take entries that the other state has.
    debts: BTreeMap<Key, Value>,
}

#[derive(Debug)]
struct JsonObjects {
    on_null: OnNull,
    objects: Vec<Object>,
    /// Bytes that keys and values take.
    owned: usize,
    /// How often an object has changed.
    changes: u64,
    /// What is wrong with a row.
    error: Option<String>,
}

/// Keys and values of a batch.
pub(super) struct ObjectArgs {
    keys: StringArray,
    values: TextValues,
    nulls: Option<NullBuffer>,
}

impl ObjectArgs {
    fn new(keys: &ArrayRef, values: &ArrayRef) -> Result<Self> {
        let keys = arrow::compute::cast(keys, &DataType::Utf8)?.as_string::<i32>().clone();
        let values = json_text(values)?;
        Ok(Self { keys, nulls: values.logical_nulls(), values: TextValues::new(&values)? })
    }

    fn value(&self, row: usize) -> Option<&str> {
        let valid = self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        valid.then(|| self.values.get(row))
    }
}

impl JsonObjects {
    fn size(key: &Key, value: &Value) -> usize {
        // the nodes of the trees are taken for three quarters full
        key.0.len() + value.as_deref().map_or(0, str::len) + size_of::<(Key, Value)>() / 3 * 4
    }

    fn insert(&mut self, slot: usize, key: Key, value: Value) {
        let object = &mut self.objects[slot];
        if object.entries.contains_key(&key) {
            self.error = Some(format!(
                "Key '{}' is already present. Duplicate keys are not allowed in JSON_OBJECTAGG. \
                 Please ensure that keys are unique.",
                key.0
            ));
            return;
        }
        self.owned += Self::size(&key, &value);
        self.changes += 1;
        object.entries.insert(key, value);
    }

    /// Takes an entry, or notes that it is owed.
    fn take(&mut self, slot: usize, key: Key, value: Value) {
        let object = &mut self.objects[slot];
        if object.entries.get(&key) == Some(&value) {
            object.entries.remove(&key);
            self.owned -= Self::size(&key, &value);
            self.changes += 1;
            return;
        }
        self.owe(slot, key, value);
    }

    fn owe(&mut self, slot: usize, key: Key, value: Value) {
        self.owned += Self::size(&key, &value);
        let size = Self::size(&key, &None);
        let object = &mut self.objects[slot];
        if let Some(old) = object.debts.insert(key, value) {
            self.owned -= size + old.as_deref().map_or(0, str::len);
        }
    }

    /// Adds an entry, unless it is owed.
    fn merge_entry(&mut self, slot: usize, key: Key, value: Value) {
        let object = &mut self.objects[slot];
        if object.debts.get(&key) == Some(&value) {
            object.debts.remove(&key);
            self.owned -= Self::size(&key, &value);
        } else {
            self.insert(slot, key, value);
        }
    }

    /// The key and the value of a row, `None` if the row is left out.
    fn entry(&mut self, args: &ObjectArgs, row: usize) -> Option<(Key, Value)> {
        if args.keys.is_null(row) {
            self.error = Some("the key of JSON_OBJECTAGG must not be NULL".to_owned());
            return None;
        }
        let value = args.value(row);
        if value.is_none() && self.on_null == OnNull::Absent {
            return None;
        }
        Some((Key(args.keys.value(row).into()), value.map(Into::into)))
    }
}

impl Cells for JsonObjects {
    type Args = ObjectArgs;
    type Value = u64;
    type Output = TextOutput;

    fn args(&mut self, args: &[ArrayRef]) -> Result<ObjectArgs> {
        ObjectArgs::new(state_column(args, 0)?, state_column(args, 1)?)
    }

    fn taken(&self, _: &[ArrayRef]) -> Option<NullBuffer> {
        None
    }

    fn add(&mut self, slot: usize, _: u64, args: &ObjectArgs, row: usize) -> u64 {
        if let Some((key, value)) = self.entry(args, row) {
            self.insert(slot, key, value);
        }
        self.changes
    }

    fn retract(&mut self, slot: usize, _: u64, args: &ObjectArgs, row: usize) -> u64 {
        if let Some((key, value)) = self.entry(args, row) {
            self.take(slot, key, value);
        }
        self.changes
    }

    fn check(&mut self) -> Result<()> {
        match self.error.take() {
            Some(error) => exec_err!("{error}"),
            None => Ok(()),
        }
    }

    fn value(&self, _: usize) -> u64 {
        self.changes
    }

    fn output(&self, len: usize) -> TextOutput {
        TextOutput::with_capacity(len)
    }

    fn put(&self, _: usize, slot: usize, _: u64, output: &mut TextOutput) {
        let mut key_text = String::new();
        output.append("{");
        for (index, (key, value)) in self.objects[slot].entries.iter().enumerate() {
            key_text.clear();
            json::write_string(&key.0, &mut key_text);
            if index > 0 {
                output.append(",");
            }
            output.append(&key_text);
            output.append(":");
            output.append(value.as_deref().unwrap_or("null"));
        }
        output.append("}");
        output.end();
    }

    fn finish(&self, output: TextOutput) -> Result<ArrayRef> {
        output.finish(&DataType::Utf8)
    }

    fn grow(&mut self, slots: usize) {
        grow_with(&mut self.objects, slots);
    }

    fn clear(&mut self, slot: usize) {
        let object = std::mem::take(&mut self.objects[slot]);
        let entries = object.entries.iter().chain(&object.debts);
        self.owned -= entries.map(|(key, value)| Self::size(key, value)).sum::<usize>();
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("entries", list_type(entry_fields()), false)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let (mut keys, mut values, mut debts) = (Vec::new(), Vec::new(), Vec::new());
        let mut lengths = Vec::with_capacity(slots.len());
        for &slot in slots {
            let object = &self.objects[slot as usize];
            for (key, value) in object.entries.iter().chain(&object.debts) {
                keys.push(Some(&*key.0));
                values.push(value.as_deref());
            }
            debts.extend(std::iter::repeat_n(false, object.entries.len()));
            debts.extend(std::iter::repeat_n(true, object.debts.len()));
            lengths.push(object.entries.len() + object.debts.len());
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(keys)),
            Arc::new(StringArray::from(values)),
            Arc::new(BooleanArray::from(debts)),
        ];
        Ok(vec![entry_lists(lengths, entry_fields(), columns)?])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let saved = SavedObjects::new(state)?;
        for (row, &slot) in slots.iter().enumerate() {
            let slot = slot as usize;
            for (key, value) in saved.entries(row, true) {
                self.take(slot, key, value);
            }
            for (key, value) in saved.entries(row, false) {
                self.merge_entry(slot, key, value);
            }
        }
        self.check()
    }

    fn restore(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let saved = SavedObjects::new(state)?;
        for (row, &slot) in slots.iter().enumerate() {
            let slot = slot as usize;
            saved.entries(row, false).for_each(|(key, value)| self.insert(slot, key, value));
            saved.entries(row, true).for_each(|(key, value)| self.owe(slot, key, value));
        }
        self.check()
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.objects) + self.owned
    }
}

/// The entries and debts of objects in a snapshot.
struct SavedObjects<'a> {
    lists: EntryLists<'a>,
    args: ObjectArgs,
    debts: &'a BooleanArray,
}

impl<'a> SavedObjects<'a> {
    fn new(state: &'a [ArrayRef]) -> Result<Self> {
        let lists = EntryLists::new(state, 0)?;
        let args = ObjectArgs::new(lists.column(0)?, lists.column(1)?)?;
        let debts = lists.column(2)?.as_boolean();
        Ok(Self { lists, args, debts })
    }

    /// What a row has, or what it owes.
    fn entries(&self, row: usize, owed: bool) -> impl Iterator<Item = (Key, Value)> {
        let entries = self.lists.entries(row).filter(move |&at| self.debts.value(at) == owed);
        entries.map(|at| (Key(self.args.keys.value(at).into()), self.args.value(at).map(Into::into)))
    }
}

/// The fields of an entry in snapshots.
fn entry_fields() -> Fields {
    Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, true),
        Field::new("debt", DataType::Boolean, false),
    ])
}
