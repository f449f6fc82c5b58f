//! Pads that hide words: the ChaCha20 keystream (RFC 8439) of each key, added to or taken from the words modulo 2^64.
//!
//! The nonce is zero and the counter begins at 0, because a key serves one request only. Word i of a pad is bytes 8i to
//! 8i + 7 of the keystream, the lowest first.

use std::collections::HashMap;

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
const BLOCK: usize = 512;
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

/// Words to be hidden, and the keys of the pads that are added to them or taken from them.
pub struct Hidden<'a> {
    pub words: &'a mut [u64],
    pub keys: &'a [Key],
    pub subtract: &'a [bool],
}

/// A pad, and whose words it is added to or taken from: both of a pair, where both live in this process.
struct Pad<'a> {
    key: &'a Key,
    users: Vec<(usize, bool)>,
}

/// Words of each party from the same place on; none where a party has fewer.
type Share<'a> = Vec<&'a mut [u64]>;

/// Adds to the words, or takes from them, the pad of every key. A key that several have is expanded once.
pub fn add_pads(all: Vec<Hidden>, n_threads: usize) {
    assert!(all.iter().all(|h| h.words.len() <= MOST_WORDS && h.keys.len() == h.subtract.len()));
    let mut pads: Vec<Pad> = Vec::new();
    let mut places = HashMap::new();
    for (i, hidden) in all.iter().enumerate() {
        for (key, &subtract) in hidden.keys.iter().zip(hidden.subtract) {
            let at = *places.entry(key).or_insert(pads.len());
            if at == pads.len() {
                pads.push(Pad { key, users: Vec::new() });
            }
            pads[at].users.push((i, subtract));
        }
    }
    let longest = all.iter().map(|h| h.words.len()).max().unwrap_or(0);
    let shares = (longest.saturating_mul(pads.len()) / LEAST_SHARE).clamp(1, 4 * n_threads);
    let step = longest.div_ceil(shares).next_multiple_of(BLOCK);
    let mut rest: Vec<_> = all.into_iter().map(|h| h.words.chunks_mut(step.max(1))).collect();
    let parts = (0..longest.div_ceil(step.max(1))).map(|i| {
        let own: Share = rest.iter_mut().map(|words| words.next().unwrap_or_default()).collect();
        (i * step, own)
    });
    let parts: Vec<(usize, Share)> = parts.collect();
    let n_threads = if shares == 1 { 1 } else { n_threads };
    threads::for_each(n_threads, parts, |(first, own)| pad_share(own, first, &pads));
}

/// The same for words that begin at `first` of the whole.
fn pad_share(mut own: Share, first: usize, pads: &[Pad]) {
    let cipher = |pad: &Pad| {
        let mut cipher = ChaCha20::new(pad.key.into(), &Default::default());
        cipher.seek(8 * first as u64);
        cipher
    };
    let mut ciphers: Vec<ChaCha20> = pads.iter().map(cipher).collect();
    let mut stream = [0; 8 * BLOCK];
    let longest = own.iter().map(|words| words.len()).max().unwrap_or(0);
    for at in (0..longest).step_by(BLOCK) {
        for (cipher, pad) in ciphers.iter_mut().zip(pads) {
            let stream = &mut stream[..8 * BLOCK.min(longest - at)];
            cipher.write_keystream(stream);
            for &(i, subtract) in &pad.users {
                let words = &mut own[i];
                let block = at.min(words.len())..words.len().min(at + BLOCK);
                combine(&mut words[block], stream, subtract);
            }
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
        add_pads(vec![Hidden { words: &mut words, keys: &[key], subtract: &[false] }], n_threads);
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
        add_pads(vec![Hidden { words: &mut words, keys: &keys, subtract: &[false, true, false] }], 2);
        assert!(words.iter().zip(&start).all(|(a, b)| a != b));
        add_pads(vec![Hidden { words: &mut words, keys: &keys, subtract: &[true, false, true] }], 3);
        assert_eq!(words, start);
    }

    #[test]
    fn a_key_that_two_have_hides_the_words_of_both_whatever_their_lengths() {
        let (keys, others) = ([[1; 32], [2; 32]], [[2; 32], [3; 32]]);
        let (mut one, mut other) = (vec![5; 3000], vec![6; 1500]);
        let both = vec![
            Hidden { words: &mut one, keys: &keys, subtract: &[false, false] },
            Hidden { words: &mut other, keys: &others, subtract: &[true, false] },
        ];
        add_pads(both, 2);
        let pads = [1, 2, 3].map(|k| pad(3000, [k; 32], 1));
        let word = |start: u64, i: usize, signs: [u64; 3]| {
            (0..3).fold(start, |sum, k| sum.wrapping_add(signs[k].wrapping_mul(pads[k][i])))
        };
        assert!((0..3000).all(|i| one[i] == word(5, i, [1, 1, 0])));
        assert!((0..1500).all(|i| other[i] == word(6, i, [0, u64::MAX, 1])));
    }

    #[test]
    fn the_last_block_of_the_counter_can_be_reached() {
        let mut cipher = ChaCha20::new(&[0; 32].into(), &Default::default());
        cipher.seek(8 * (MOST_WORDS as u64 - 8));
        let mut last = [0; 64];
        assert!(cipher.try_write_keystream(&mut last).is_ok());
    }
}
