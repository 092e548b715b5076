//! SHA1.

use datafusion_expr::ScalarUDF;

use super::hash::{hash, hashes};
use super::sha1_digest::sha1_digest;

/// `SHA1(text)`: the hash of the UTF-8 bytes of a text in hexadecimal digits, a CHAR(40).
pub(super) fn sha1() -> ScalarUDF {
    hash("sha1", "SHA1(<CHARACTER>)", |args| hashes(args, sha1_digest))
}
