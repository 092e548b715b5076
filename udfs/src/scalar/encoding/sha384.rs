//! SHA384.

use ::sha2::{Digest, Sha384};
use datafusion_expr::ScalarUDF;

use super::hash::{hash, hashes};

/// `SHA384(text)`: the hash of the UTF-8 bytes of a text in hexadecimal digits, a CHAR(96).
pub(super) fn sha384() -> ScalarUDF {
    hash("sha384", "SHA384(<CHARACTER>)", |args| hashes(args, |bytes| Sha384::digest(bytes)))
}
