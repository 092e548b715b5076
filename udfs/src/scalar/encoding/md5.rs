//! MD5.

use ::md5::{Digest, Md5};
use datafusion_expr::ScalarUDF;

use super::hash::{hash, hashes};

/// `MD5(text)`: the hash of the UTF-8 bytes of a text in hexadecimal digits, a CHAR(32).
pub(super) fn md5() -> ScalarUDF {
    hash("md5", "MD5(<CHARACTER>)", |args| hashes(args, |bytes| Md5::digest(bytes)))
}
