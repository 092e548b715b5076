//! Functions of arrays and maps.

mod array_append;
mod array_concat;
mod array_contains;
mod array_distinct;
mod array_join;
mod array_max;
mod array_min;
mod array_position;
mod array_prepend;
mod array_remove;
mod array_slice;
mod array_sort;
mod array_union;
mod cardinality;
mod element;
mod equality;
mod extend;
mod extreme;
mod item;
mod list_rows;
mod lists;
mod make_map;
mod map_from_arrays;
mod map_union;
mod maps;

use datafusion_expr::ScalarUDF;

pub use item::item;
pub use make_map::make_map;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        array_append::array_append(),
        array_concat::array_concat(),
        array_contains::array_contains(),
        array_distinct::array_distinct(),
        array_join::array_join(),
        array_max::array_max(),
        array_min::array_min(),
        array_position::array_position(),
        array_prepend::array_prepend(),
        array_remove::array_remove(),
        array_slice::array_slice(),
        array_sort::array_sort(),
        array_union::array_union(),
        cardinality::cardinality(),
        element::element(),
        item(),
        make_map(),
        map_from_arrays::map_from_arrays(),
        map_union::map_union(),
    ]
}
