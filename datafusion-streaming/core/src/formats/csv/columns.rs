//! Nested columns under construction, filled from the elements of a CSV field.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, NullBufferBuilder, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use arrow::error::ArrowError;

use super::CsvOptions;
use crate::formats::Malformed;
use crate::formats::column::{Column, FieldColumn, Fit, Offsets, Value};
use crate::formats::scalar::scalar_column;
use crate::formats::time::TimeForms;

/// The column for a field of a record. As in Flink, an ARRAY or ROW has scalar elements only, and CSV has no
/// form for MAP and MULTISET.
pub(super) fn csv_column(field: &Field, options: &CsvOptions) -> Result<FieldColumn, Malformed> {
    let label = format!("column '{}'", field.name());
    let elements = || Elements {
        delimiter: options.array_element_delimiter.clone(),
        null_literal: options.null_literal.clone(),
    };
    let column: Box<dyn Column> = match field.data_type() {
        DataType::List(element) => Box::new(ListColumn {
            element: element_column("an element", element, options).map_err(|error| error.within(&label))?,
            field: Arc::clone(element),
            offsets: Offsets::default(),
            elements: elements(),
        }),
        DataType::Struct(fields) => Box::new(StructColumn {
            columns: fields
                .iter()
                .map(|field| element_column(&format!("field '{}'", field.name()), field, options))
                .collect::<Result<_, _>>()
                .map_err(|error| error.within(&label))?,
            fields: fields.clone(),
            nulls: NullBufferBuilder::new(0),
            lenient: options.ignore_parse_errors,
            elements: elements(),
        }),
        scalar => scalar_column(scalar, TimeForms::Csv)
            .ok_or_else(|| Malformed::new(format!("its type {scalar} has no CSV form")).within(&label))?,
    };
    Ok(FieldColumn::new(label, field.is_nullable(), options.ignore_parse_errors, column))
}

fn element_column(label: &str, field: &Field, options: &CsvOptions) -> Result<FieldColumn, Malformed> {
    let column = scalar_column(field.data_type(), TimeForms::Csv).ok_or_else(|| {
        Malformed::new(format!("CSV has no form for a {} within another type", field.data_type()))
    })?;
    Ok(FieldColumn::new(label.to_string(), field.is_nullable(), options.ignore_parse_errors, column))
}

/// How the elements of a field are told apart.
struct Elements {
    delimiter: String,
    null_literal: Option<String>,
}

impl Elements {
    /// The elements of a field, `None` for NULL. A blank field has none.
    fn of<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Option<&'a str>> {
        let elements = (!text.trim().is_empty()).then(|| text.split(self.delimiter.as_str()));
        elements.into_iter().flatten().map(|element| Some(element).filter(|_| !self.is_null(element)))
    }

    fn is_null(&self, element: &str) -> bool {
        self.null_literal.as_deref() == Some(element)
    }
}

fn put(column: &mut FieldColumn, text: Option<&str>) -> Result<Fit, Malformed> {
    column.put(text.map(|text| move |column: &mut dyn Column| column.append(Value::Text(text))))
}

/// ARRAY: elements with delimiters between them.
struct ListColumn {
    element: FieldColumn,
    field: FieldRef,
    offsets: Offsets,
    elements: Elements,
}

impl Column for ListColumn {
    fn append(&mut self, value: Value<'_>) -> Result<Fit, Malformed> {
        let (mut len, mut list) = (0, Fit::Value);
        for element in self.elements.of(value.text("an ARRAY")?) {
            if put(&mut self.element, element)? == Fit::Unfit {
                list = Fit::Unfit;
            }
            len += 1;
        }
        self.offsets.append(len)?;
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

/// ROW: its fields with delimiters between them; NULL where there are none.
struct StructColumn {
    columns: Vec<FieldColumn>,
    fields: Fields,
    nulls: NullBufferBuilder,
    lenient: bool,
    elements: Elements,
}

impl Column for StructColumn {
    fn append(&mut self, value: Value<'_>) -> Result<Fit, Malformed> {
        let text = value.text("a ROW")?;
        match self.elements.of(text).count() {
            0 => return Ok(Fit::Null),
            len if len != self.columns.len() && !self.lenient => {
                return Err(Malformed::new(format!(
                    "a ROW of {} fields, but {len} in '{text}'",
                    self.columns.len()
                )));
            }
            _ => {}
        }
        let mut elements = self.elements.of(text);
        let mut row = Fit::Value;
        for column in &mut self.columns {
            if put(column, elements.next().flatten())? == Fit::Unfit {
                row = Fit::Unfit;
            }
        }
        self.nulls.append_non_null();
        Ok(row)
    }

    fn append_null(&mut self) {
        self.columns.iter_mut().for_each(FieldColumn::put_null);
        self.nulls.append_null();
    }

    fn append_placeholder(&mut self) {
        self.columns.iter_mut().for_each(FieldColumn::put_placeholder);
        self.nulls.append_non_null();
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let (len, nulls) = (self.nulls.len(), self.nulls.finish());
        let columns = self.columns.iter_mut().map(FieldColumn::finish).collect::<Result<_, _>>()?;
        Ok(Arc::new(StructArray::try_new_with_length(self.fields.clone(), columns, nulls, len)?))
    }

    fn ignored(&self) -> u64 {
        self.columns.iter().map(FieldColumn::ignored).sum()
    }
}
