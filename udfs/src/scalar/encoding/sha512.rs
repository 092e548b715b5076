//! SHA512.

use ::sha2::{Digest, Sha512};
use datafusion_expr::ScalarUDF;

use super::hash::{hash, hashes};

/// `SHA512(text)`: the hash of the UTF-8 bytes of a text in hexadecimal digits, a CHAR(128).
pub(super) fn sha512() -> ScalarUDF {
    hash("sha512", "SHA512(<CHARACTER>)", |args| hashes(args, |bytes| Sha512::digest(bytes)))
}
