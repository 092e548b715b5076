//! Bytes and texts in other forms: Base64, hexadecimal digits, character sets, hashes.

mod base64_engine;
mod bin;
mod charset;
mod decode;
mod encode;
mod from_base64;
mod hash;
mod hex;
mod md5;
mod sha1;
mod sha1_digest;
mod sha2;
mod sha224;
mod sha256;
mod sha384;
mod sha512;
mod to_base64;
mod unhex;

use datafusion_expr::ScalarUDF;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        bin::bin(),
        decode::decode(),
        encode::encode(),
        from_base64::from_base64(),
        hex::hex(),
        md5::md5(),
        sha1::sha1(),
        sha2::sha2(),
        sha224::sha224(),
        sha256::sha256(),
        sha384::sha384(),
        sha512::sha512(),
        to_base64::to_base64(),
        unhex::unhex(),
    ]
}
