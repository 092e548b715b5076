//! Functions of texts.

mod affix;
mod ascii;
mod chr;
mod concat;
mod elt;
mod ends_with;
mod find;
mod format;
mod initcap;
mod instr;
mod left;
mod locate;
mod lpad;
mod overlay;
mod pad;
mod parse_url;
mod printf;
mod repeat;
mod replace;
mod right;
mod rpad;
mod split;
mod split_index;
mod starts_with;
mod str_to_map;
mod substring;
mod translate;
mod url;
mod url_decode;
mod url_encode;
pub(super) mod utf16;

use datafusion_expr::ScalarUDF;

pub use split_index::SplitIndex;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        ScalarUDF::from(SplitIndex::default()),
        ascii::ascii(),
        chr::chr(),
        concat::concat(),
        elt::elt(),
        ends_with::ends_with(),
        initcap::initcap(),
        instr::instr(),
        left::left(),
        locate::locate(),
        lpad::lpad(),
        overlay::overlay(),
        parse_url::parse_url(),
        printf::printf(),
        repeat::repeat(),
        replace::replace(),
        right::right(),
        rpad::rpad(),
        split::split(),
        starts_with::starts_with(),
        str_to_map::str_to_map(),
        substring::substring(),
        translate::translate(),
        url_decode::url_decode(),
        url_encode::url_encode(),
    ]
}
