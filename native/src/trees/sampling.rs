//! Draws that depend on what a row or column is, not on where it lies: SipHash-2-4 of its key.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

/// A 64-bit draw for each key, under the 128-bit key `(seed, stream)`.
pub fn draws(keys: &[u64], seed: u64, stream: u64) -> Vec<u64> {
    let one = |&key: &u64| {
        let mut hasher = SipHasher24::new_with_keys(seed, stream);
        hasher.write(&key.to_le_bytes());
        hasher.finish()
    };
    keys.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn agrees_with_the_published_vector() {
        let found = super::draws(&[0x0706_0504_0302_0100], 0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        assert_eq!(found, [0x93f5_f579_9a93_2462]);
    }
}
