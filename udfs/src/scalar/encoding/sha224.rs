//! SHA224.

use ::sha2::{Digest, Sha224};
use datafusion_expr::ScalarUDF;

use super::hash::{hash, hashes};

/// `SHA224(text)`: the hash of the UTF-8 bytes of a text in hexadecimal digits, a CHAR(56).
pub(super) fn sha224() -> ScalarUDF {
    hash("sha224", "SHA224(<CHARACTER>)", |args| hashes(args, |bytes| Sha224::digest(bytes)))
}
