//! HEX, Base64, character sets and hashes.

use super::*;
use arrow::array::BinaryArray;

#[test]
fn digits_and_base64() {
    let rows = || texts(&[Some("hi"), Some(""), None, Some("é")]);
    for (name, args, expected) in [
        ("hex", vec![rows()], ["6869", "", "NULL", "C3A9"]),
        ("hex", vec![longs(&[Some(255), Some(0), None, Some(-1)])], ["FF", "0", "NULL", "FFFFFFFFFFFFFFFF"]),
        (
            "bin",
            vec![longs(&[Some(5), Some(0), None, Some(i64::MIN)])],
            ["101", "0", "NULL", "1000000000000000000000000000000000000000000000000000000000000000"],
        ),
        ("to_base64", vec![rows()], ["aGk=", "", "NULL", "w6k="]),
        ("from_base64", vec![texts(&[Some("aGk"), Some(""), None, Some("w6k=")])], ["hi", "", "NULL", "é"]),
        (
            "from_base64",
            vec![texts(&[Some("/w=="), Some("aGk="), None, Some("")])],
            ["\u{FFFD}", "hi", "NULL", ""],
        ),
        ("unhex", vec![texts(&[Some("6869"), Some("1"), None, Some("xx")])], ["6869", "00", "NULL", "NULL"]),
    ] {
        assert_eq!(call(name, args), expected, "{name}");
    }
    assert!(error("from_base64", vec![constant("a b")]).contains("FROM_BASE64 cannot read 'a b'"));
}

#[test]
fn character_sets() {
    let rows = || texts(&[Some("hé"), Some(""), None]);
    assert_eq!(call("encode", vec![rows(), constant("utf-8")]), ["68c3a9", "", "NULL"]);
    assert_eq!(call("encode", vec![rows(), constant("US-ASCII")]), ["683f", "", "NULL"]);
    assert_eq!(call("encode", vec![rows(), constant("UTF-16")]), ["feff006800e9", "", "NULL"]);
    assert!(error("encode", vec![rows(), constant("EBCDIC")]).contains("EBCDIC"));
    let bytes = column(BinaryArray::from(vec![Some(&[0x68, 0xE9][..]), Some(&[]), None]));
    assert_eq!(call("decode", vec![bytes, constant("ISO-8859-1")]), ["hé", "", "NULL"]);
    assert!(error("decode", vec![rows(), constant("UTF-8")]).contains("Cannot apply 'DECODE'"));
}

#[test]
fn hashes() {
    let rows = || texts(&[Some(""), None]);
    for (name, hash) in [
        ("md5", "d41d8cd98f00b204e9800998ecf8427e"),
        ("sha1", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("sha224", "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f"),
        ("sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (
            "sha384",
            "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b",
        ),
        (
            "sha512",
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
        ),
    ] {
        assert_eq!(call(name, vec![rows()]), [hash, "NULL"], "{name}");
        if let Some(bits) =
            name.strip_prefix("sha").and_then(|bits| bits.parse().ok()).filter(|bits| *bits > 1)
        {
            assert_eq!(call("sha2", vec![rows(), int(bits)]), [hash, "NULL"]);
        }
    }
    assert_eq!(call("sha2", vec![rows(), null(DataType::Int32)]), ["NULL", "NULL"]);
    assert!(error("sha2", vec![rows(), int(1)]).contains("no hash of 1 bits"));
}
