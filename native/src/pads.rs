//! Pads that hide words: the ChaCha20 keystream (RFC 8439) of each key, added to or taken from the words modulo 2^64.
//!
//! The nonce is zero and the counter begins at 0, because a key serves one request only. Word i of a pad is bytes 8i to
//! 8i + 7 of the keystream, the lowest first.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use hkdf::Hkdf;
use sha2::Sha256;

use crate::portable::dispatched;
use crate::threads;

pub type Key = [u8; 32];

/// The words that one key can pad: the cipher counts its blocks of 8 words in 32 bits.
pub const MOST_WORDS: usize = 8 * u32::MAX as usize;
/// Words padded at a time, so that they and their pads stay in the nearest cache.
const BLOCK: usize = 1024;
/// Pad words below which another thread is not worth waking.
const LEAST_SHARE: usize = 1 << 14;

/// Keys for one request: HKDF-Expand with SHA-256 (RFC 5869) of each secret and what the request is.
pub fn keys(secrets: &[Key], info: &[u8]) -> Vec<Key> {
    let expanded = |secret: &Key| {
        let mut key = [0; 32];
        let expander = Hkdf::<Sha256>::from_prk(secret).expect("a secret is as long as a hash");
        expander.expand(info, &mut key).expect("a key is as long as a hash");
        key
    };
    secrets.iter().map(expanded).collect()
}

/// Adds to the words, or takes from them, the pad of every key.
pub fn add_pads(words: &mut [u64], keys: &[Key], subtract: &[bool], n_threads: usize) {
    assert!(words.len() <= MOST_WORDS && keys.len() == subtract.len());
    let shares = (words.len().saturating_mul(keys.len()) / LEAST_SHARE).clamp(1, 4 * n_threads);
    if n_threads == 1 || shares == 1 {
        return pad_share(words, 0, keys, subtract);
    }
    let step = words.len().div_ceil(shares).next_multiple_of(BLOCK);
    let parts = words.chunks_mut(step).enumerate().collect();
    threads::for_each(n_threads, parts, |(i, part)| pad_share(part, i * step, keys, subtract));
}

/// The same for words that begin at `first` of the whole.
fn pad_share(words: &mut [u64], first: usize, keys: &[Key], subtract: &[bool]) {
    let cipher = |key: &Key| {
        let mut cipher = ChaCha20::new(key.into(), &Default::default());
        cipher.seek(8 * first as u64);
        cipher
    };
    let mut ciphers: Vec<ChaCha20> = keys.iter().map(cipher).collect();
    let mut stream = [0; 8 * BLOCK];
    for block in words.chunks_mut(BLOCK) {
        let stream = &mut stream[..8 * block.len()];
        for (cipher, &subtract) in ciphers.iter_mut().zip(subtract) {
            cipher.write_keystream(stream);
            combine(block, stream, subtract);
        }
    }
}

dispatched! {
    /// Adds or takes a pad given as bytes.
    pub fn combine(words: &mut [u64], pad: &[u8], subtract: bool) {
        let pairs = words.iter_mut().zip(pad.as_chunks().0).map(|(word, &pad)| (word, u64::from_le_bytes(pad)));
        if subtract {
            pairs.for_each(|(word, pad)| *word = word.wrapping_sub(pad));
        } else {
            pairs.for_each(|(word, pad)| *word = word.wrapping_add(pad));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pad(n: usize, key: Key, n_threads: usize) -> Vec<u64> {
        let mut words = vec![0; n];
        add_pads(&mut words, &[key], &[false], n_threads);
        words
    }

    #[test]
    fn is_the_keystream_of_the_standard() {
        // RFC 8439, appendix A.1, vectors 1 and 2: key and nonce zero, counter 0 and 1.
        let bytes: Vec<u8> = pad(16, [0; 32], 1).iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(bytes[..8], [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
        assert_eq!(bytes[56..64], [0xc3, 0x87, 0xb6, 0x69, 0xb2, 0xee, 0x65, 0x86]);
        assert_eq!(bytes[64..72], [0x9f, 0x07, 0xe7, 0xbe, 0x55, 0x51, 0x38, 0x7a]);
    }

    #[test]
    fn does_not_depend_on_the_threads_and_begins_alike_for_every_length() {
        let whole = pad(200_003, [7; 32], 1);
        for n in [0, 1, 7, 8, 9, 1023, 1024, 1025, 16_384, 65_537, 200_003] {
            for n_threads in [1, 2, 5] {
                assert_eq!(pad(n, [7; 32], n_threads), whole[..n], "{n} words on {n_threads} threads");
            }
        }
    }

    #[test]
    fn what_one_adds_another_takes() {
        let keys = [[1; 32], [2; 32], [3; 32]];
        let start: Vec<u64> = (0..40_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut words = start.clone();
        add_pads(&mut words, &keys, &[false, true, false], 2);
        assert!(words.iter().zip(&start).all(|(a, b)| a != b));
        add_pads(&mut words, &keys, &[true, false, true], 3);
        assert_eq!(words, start);
    }

    #[test]
    fn the_last_block_of_the_counter_can_be_reached() {
        let mut cipher = ChaCha20::new(&[0; 32].into(), &Default::default());
        cipher.seek(8 * (MOST_WORDS as u64 - 8));
        let mut last = [0; 64];
        assert!(cipher.try_write_keystream(&mut last).is_ok());
    }
}
