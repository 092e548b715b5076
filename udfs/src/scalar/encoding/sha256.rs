//! SHA256.

use ::sha2::{Digest, Sha256};
use datafusion_expr::ScalarUDF;

use super::hash::{hash, hashes};

/// `SHA256(text)`: the hash of the UTF-8 bytes of a text in hexadecimal digits, a CHAR(64).
pub(super) fn sha256() -> ScalarUDF {
    hash("sha256", "SHA256(<CHARACTER>)", |args| hashes(args, |bytes| Sha256::digest(bytes)))
}
