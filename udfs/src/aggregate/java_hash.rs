//! Java's hash codes, and the order that they give a `HashMap`.

/// The capacity of a `HashMap` with so many entries: it starts with 16 and doubles when it is three quarters full.
pub(super) fn capacity(entries: usize) -> u32 {
    let mut capacity = 16_u32;
    while entries > capacity as usize / 4 * 3 && capacity < 1 << 30 {
        capacity *= 2;
    }
    capacity
}

/// The bucket of a hash code. A `HashMap` is read bucket by bucket, and within one in the order of insertion.
pub(super) fn bucket(hash: i32, capacity: u32) -> u32 {
    let hash = hash as u32;
    (hash ^ (hash >> 16)) & (capacity - 1)
}

/// `Double.hashCode`.
pub(super) fn of_double(value: f64) -> i32 {
    let bits = if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() };
    (bits ^ (bits >> 32)) as u32 as i32
}

/// `Float.hashCode`.
pub(super) fn of_float(value: f32) -> i32 {
    let bits = if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() };
    bits as i32
}

/// The hash code of Flink's strings: MurmurHash3 of their bytes with the seed 42, in which each byte behind the last
/// whole word counts as a word.
pub(super) fn of_string(text: &str) -> i32 {
    let mut words = text.as_bytes().chunks_exact(4);
    let mut hash = 42_u32;
    for word in &mut words {
        hash = mixed(hash, u32::from_le_bytes(word.try_into().unwrap_or_default()));
    }
    for byte in words.remainder() {
        hash = mixed(hash, *byte as i8 as i32 as u32);
    }
    hash ^= text.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)) as i32
}

fn mixed(hash: u32, word: u32) -> u32 {
    let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_codes_are_those_of_java() {
        // Double.hashCode(1.5), (-0.0), (NaN); Float.hashCode(1.5f)
        assert_eq!(of_double(1.5), 1_073_217_536);
        assert_eq!(of_double(-0.0), i32::MIN);
        assert_eq!(of_double(f64::NAN), 2_146_959_360);
        assert_eq!(of_float(1.5), 1_069_547_520);
    }

    #[test]
    fn a_map_grows_when_it_is_three_quarters_full() {
        assert_eq!([0, 12, 13, 24, 25, 1_000].map(capacity), [16, 16, 32, 32, 64, 2_048]);
        assert_eq!(bucket(0x0001_0002, 16), 3);
    }
}
