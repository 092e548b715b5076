//! Nested columns under construction, filled from JSON text.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, MapArray, NullBufferBuilder, StructArray};
use arrow::datatypes::{DataType, FieldRef, Fields};
use arrow::error::ArrowError;

use super::JsonOptions;
use super::text::{FieldNames, Span, append, find_elements, find_entries};
use crate::formats::Malformed;
use crate::formats::column::{Column, FieldColumn, Fit, Offsets, Value, abridged};
use crate::formats::scalar::scalar_column;
use crate::formats::time::TimeForms;

/// The column for values of a type; an error (without the name of the column) where JSON has none.
pub(super) fn json_column(data_type: &DataType, options: &JsonOptions) -> Result<Box<dyn Column>, Malformed> {
    Ok(match data_type {
        DataType::List(element) => Box::new(ListColumn {
            element: FieldColumn::new(
                "an element".to_string(),
                element.is_nullable(),
                options.ignore_parse_errors,
                json_column(element.data_type(), options)?,
            ),
            field: Arc::clone(element),
            offsets: Offsets::default(),
            spans: vec![],
        }),
        DataType::Map(entries, ordered) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                let (key, value) = (&fields[0], &fields[1]);
                if key.data_type() != &DataType::Utf8 {
                    return Err(Malformed::new(format!(
                        "the keys of JSON objects are strings, so a MAP or MULTISET of {} has no JSON form",
                        key.data_type()
                    )));
                }
                Box::new(MapColumn {
                    key: json_column(key.data_type(), options)?,
                    value: FieldColumn::new(
                        "a value".to_string(),
                        value.is_nullable(),
                        options.ignore_parse_errors,
                        json_column(value.data_type(), options)?,
                    ),
                    entries: Arc::clone(entries),
                    fields: fields.clone(),
                    ordered: *ordered,
                    offsets: Offsets::default(),
                })
            }
            other => return Err(Malformed::new(format!("a map of {other} is no map of keys to values"))),
        },
        DataType::Struct(fields) => Box::new(StructColumn {
            object: ObjectColumns::try_new(fields, "field", options)?,
            fields: fields.clone(),
            nulls: NullBufferBuilder::new(0),
        }),
        scalar => scalar_column(scalar, TimeForms::Json(options.timestamp_standard))
            .ok_or_else(|| Malformed::new(format!("its type {scalar} has no JSON form")))?,
    })
}

/// The columns that the fields of an object fill.
pub(super) struct ObjectColumns {
    names: FieldNames,
    columns: Vec<FieldColumn>,
    fail_on_missing_field: bool,
    /// Kept for its memory.
    spans: Vec<Span>,
}

impl ObjectColumns {
    /// Columns for `fields`; messages call each a `kind`.
    pub(super) fn try_new(fields: &Fields, kind: &str, options: &JsonOptions) -> Result<Self, Malformed> {
        let column = |field: &FieldRef| {
            let label = format!("{kind} '{}'", field.name());
            let column = json_column(field.data_type(), options).map_err(|error| error.within(&label))?;
            Ok(FieldColumn::new(label, field.is_nullable(), options.ignore_parse_errors, column))
        };
        Ok(ObjectColumns {
            names: FieldNames::new(fields.iter().map(|field| field.name())),
            columns: fields.iter().map(column).collect::<Result<_, _>>()?,
            fail_on_missing_field: options.fail_on_missing_field,
            spans: vec![],
        })
    }

    /// Appends one value to each column. Where `object` is no JSON object, the error comes before
    /// anything is appended.
    pub(super) fn append(&mut self, object: &str) -> Result<Fit, Malformed> {
        self.names.find(object, &mut self.spans)?;
        let mut row = Fit::Value;
        for (index, (column, span)) in self.columns.iter_mut().zip(&self.spans).enumerate() {
            let raw = span.get(object);
            if raw.is_none() && self.fail_on_missing_field {
                return Err(Malformed::new(format!(
                    "there is no field '{}' in {}",
                    self.names.name(index),
                    abridged(object)
                )));
            }
            if column.put(raw.map(|raw| |column: &mut dyn Column| append(column, raw)))? == Fit::Unfit {
                row = Fit::Unfit;
            }
        }
        Ok(row)
    }

    pub(super) fn finish(&mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        self.columns.iter_mut().map(FieldColumn::finish).collect()
    }

    pub(super) fn ignored(&self) -> u64 {
        self.columns.iter().map(FieldColumn::ignored).sum()
    }
}

/// ROW: an object.
struct StructColumn {
    object: ObjectColumns,
    fields: Fields,
    nulls: NullBufferBuilder,
}

impl Column for StructColumn {
    fn append(&mut self, value: Value<'_>) -> Result<Fit, Malformed> {
        let fit = self.object.append(value.nested('{', "an object")?)?;
        self.nulls.append_non_null();
        Ok(fit)
    }

    fn append_null(&mut self) {
        self.object.columns.iter_mut().for_each(FieldColumn::put_null);
        self.nulls.append_null();
    }

    fn append_placeholder(&mut self) {
        self.object.columns.iter_mut().for_each(FieldColumn::put_placeholder);
        self.nulls.append_non_null();
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let (len, nulls) = (self.nulls.len(), self.nulls.finish());
        let columns = self.object.finish()?;
        Ok(Arc::new(StructArray::try_new_with_length(self.fields.clone(), columns, nulls, len)?))
    }

    fn ignored(&self) -> u64 {
        self.object.ignored()
    }
}

/// ARRAY: an array.
struct ListColumn {
    element: FieldColumn,
    field: FieldRef,
    offsets: Offsets,
    /// Kept for its memory.
    spans: Vec<Span>,
}

impl Column for ListColumn {
    fn append(&mut self, value: Value<'_>) -> Result<Fit, Malformed> {
        let array = value.nested('[', "an array")?;
        find_elements(array, &mut self.spans)?;
        let mut list = Fit::Value;
        for span in &self.spans {
            let raw = span.get(array);
            if self.element.put(raw.map(|raw| |column: &mut dyn Column| append(column, raw)))? == Fit::Unfit {
                list = Fit::Unfit;
            }
        }
        self.offsets.append(self.spans.len())?;
        Ok(list)
    }

    fn append_null(&mut self) {
        self.offsets.append_empty(false);
    }

    fn append_placeholder(&mut self) {
        self.offsets.append_empty(true);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let (offsets, nulls) = self.offsets.finish();
        Ok(Arc::new(ListArray::try_new(Arc::clone(&self.field), offsets, self.element.finish()?, nulls)?))
    }

    fn ignored(&self) -> u64 {
        self.element.ignored()
    }
}

/// MAP and MULTISET: an object whose keys are the map's.
struct MapColumn {
    key: Box<dyn Column>,
    value: FieldColumn,
    entries: FieldRef,
    fields: Fields,
    ordered: bool,
    offsets: Offsets,
}

impl Column for MapColumn {
    fn append(&mut self, value: Value<'_>) -> Result<Fit, Malformed> {
        let object = value.nested('{', "an object")?;
        let entries = find_entries(object)?;
        let mut map = Fit::Value;
        for (key, span) in &entries {
            self.key.append(Value::Text(key))?;
            let raw = span.get(object);
            if self.value.put(raw.map(|raw| |column: &mut dyn Column| append(column, raw)))? == Fit::Unfit {
                map = Fit::Unfit;
            }
        }
        self.offsets.append(entries.len())?;
        Ok(map)
    }

    fn append_null(&mut self) {
        self.offsets.append_empty(false);
    }

    fn append_placeholder(&mut self) {
        self.offsets.append_empty(true);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let (offsets, nulls) = self.offsets.finish();
        let columns = vec![self.key.finish()?, self.value.finish()?];
        let entries = StructArray::try_new(self.fields.clone(), columns, None)?;
        Ok(Arc::new(MapArray::try_new(Arc::clone(&self.entries), offsets, entries, nulls, self.ordered)?))
    }

    fn ignored(&self) -> u64 {
        self.value.ignored()
    }
}
