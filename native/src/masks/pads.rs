//! Pads that hide words: a ChaCha20 keystream (RFC 8439) for each secret, added to or taken from the words modulo 2^64.
//!
//! Its key is HKDF-Expand with SHA-256 (RFC 5869) of the secret and what the request is. The nonce is zero and the
//! counter begins at 0, because a key serves one request only. Word i of a pad is bytes 8i to 8i + 7 of the keystream,
//! the lowest first.

use std::collections::HashMap;

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use hkdf::Hkdf;
use sha2::Sha256;

use crate::math::portable::dispatched;
use crate::math::threads;

pub type Key = [u8; 32];

/// The words that one key can pad: the cipher counts its blocks of 8 words in 32 bits.
pub const MOST_WORDS: usize = 8 * u32::MAX as usize;
/// Words padded at a time, so that they and their pads stay in the nearest cache.
const BLOCK: usize = 512;
/// Pad words below which another thread is not worth waking.
const LEAST_SHARE: usize = 1 << 12;

/// The key of the pad that a secret gives for one request.
fn pad_key(secret: &Key, info: &[u8]) -> Key {
    let mut key = [0; 32];
    let expander = Hkdf::<Sha256>::from_prk(secret).expect("a secret is as long as a hash");
    expander.expand(info, &mut key).expect("a key is as long as a hash");
    key
}

/// The secrets of pads, which of them are taken from the words and not added, and what the request is.
#[derive(Clone, Copy)]
pub struct Pads<'a> {
    pub secrets: &'a [Key],
    pub subtract: &'a [bool],
    pub info: &'a [u8],
}

/// Words to be hidden, and what hides them.
pub struct Hidden<'a> {
    pub words: &'a mut [u64],
    pub pads: Pads<'a>,
}

/// A pad, and whose words it is added to or taken from: both of a pair, where both live in this process.
struct Pad {
    key: Key,
    users: Vec<(usize, bool)>,
}

/// Words of each party from the same place on; none where a party has fewer.
type Share<'a> = Vec<&'a mut [u64]>;

/// Adds to the words, or takes from them, the pad of every secret. A pad that several have is made once.
pub fn add_pads(all: Vec<Hidden>, n_threads: usize) {
    assert!(all.iter().all(|h| h.words.len() <= MOST_WORDS && h.pads.secrets.len() == h.pads.subtract.len()));
    let mut pads: Vec<Pad> = Vec::new();
    let mut places = HashMap::new();
    for (i, Pads { secrets, subtract, info }) in all.iter().map(|hidden| hidden.pads).enumerate() {
        for (secret, &subtract) in secrets.iter().zip(subtract) {
            let at = *places.entry((secret, info)).or_insert(pads.len());
            if at == pads.len() {
                pads.push(Pad { key: pad_key(secret, info), users: Vec::new() });
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

/// So many words of the pads of these keys, added up; those that are taken count negatively.
pub fn pad_words(n: usize, keys: &[Key], subtract: &[bool]) -> Vec<u64> {
    assert!(n <= MOST_WORDS && keys.len() == subtract.len());
    let pad = |(&key, &subtract): (&Key, &bool)| Pad { key, users: vec![(0, subtract)] };
    let pads: Vec<Pad> = keys.iter().zip(subtract).map(pad).collect();
    let mut words = vec![0; n];
    pad_share(vec![&mut words], 0, &pads);
    words
}

/// Adds or takes the pads to words that begin at `first` of the whole.
fn pad_share(mut own: Share, first: usize, pads: &[Pad]) {
    let cipher = |pad: &Pad| {
        let mut cipher = ChaCha20::new(&pad.key.into(), &Default::default());
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

dispatched! {
    /// The sum of all parts, modulo 2^64 and signed; words are given as bytes, the lowest first.
    pub fn sum_words(parts: &[&[[u8; 8]]]) -> Vec<i64> {
        let mut sums = vec![0i64; parts.first().map_or(0, |part| part.len())];
        for (at, sums) in sums.chunks_mut(BLOCK).enumerate() {
            for part in parts {
                let part = &part[at * BLOCK..][..sums.len()];
                sums.iter_mut().zip(part).for_each(|(sum, &word)| *sum = sum.wrapping_add(i64::from_le_bytes(word)));
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &[u8] = b"a request";

    fn pad(n: usize, secret: Key, n_threads: usize) -> Vec<u64> {
        let mut words = vec![0; n];
        add_pads(
            vec![Hidden { words: &mut words, pads: Pads { secrets: &[secret], subtract: &[false], info: INFO } }],
            n_threads,
        );
        words
    }

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
    }

    #[test]
    fn a_key_is_what_rfc_5869_derives() {
        // Appendix A.1, the first 32 bytes: HKDF makes them one hash after the other.
        let secret = bytes("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
        let expected = bytes("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
        let key = pad_key(secret.as_slice().try_into().unwrap(), &bytes("f0f1f2f3f4f5f6f7f8f9"));
        assert_eq!(key.as_slice(), expected);
    }

    #[test]
    fn is_the_keystream_of_the_standard() {
        // RFC 8439, appendix A.1, vectors 1 to 4; the nonce of all is zero.
        let (mut ends_in_one, mut second_is_255) = ([0; 32], [0; 32]);
        (ends_in_one[31], second_is_255[1]) = (1, 255);
        for (key, block, expected) in [
            (
                [0; 32],
                0,
                "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7\
                 da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586\
                 9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed\
                 29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
            ),
            (
                ends_in_one,
                1,
                "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a\
                 8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
            ),
            (
                second_is_255,
                2,
                "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca\
                 13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
            ),
        ] {
            let expected = bytes(expected);
            let mut words = vec![0; 8 * block + expected.len() / 8];
            pad_share(vec![&mut words], 0, &[Pad { key, users: vec![(0, false)] }]);
            let found: Vec<u8> = words[8 * block..].iter().flat_map(|w| w.to_le_bytes()).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn pads_of_keys_are_added_up_with_their_signs() {
        let info_key = |secret: Key| pad_key(&secret, INFO);
        let both = pad_words(3000, &[info_key([1; 32]), info_key([2; 32])], &[false, true]);
        let (one, other) = (pad(3000, [1; 32], 1), pad(3000, [2; 32], 1));
        assert!((0..3000).all(|i| both[i] == one[i].wrapping_sub(other[i])));
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
        let secrets = [[1; 32], [2; 32], [3; 32]];
        let start: Vec<u64> = (0..40_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut words = start.clone();
        let mut hide = |subtract: &[bool], n_threads| {
            add_pads(
                vec![Hidden { words: &mut words, pads: Pads { secrets: &secrets, subtract, info: INFO } }],
                n_threads,
            );
            words.clone()
        };
        assert!(hide(&[false, true, false], 2).iter().zip(&start).all(|(a, b)| a != b));
        assert_eq!(hide(&[true, false, true], 3), start);
    }

    #[test]
    fn a_secret_that_two_have_hides_the_words_of_both_whatever_their_lengths() {
        let (secrets, others) = ([[1; 32], [2; 32]], [[2; 32], [3; 32]]);
        let (mut one, mut other) = (vec![5; 3000], vec![6; 1500]);
        let both = vec![
            Hidden { words: &mut one, pads: Pads { secrets: &secrets, subtract: &[false, false], info: INFO } },
            Hidden { words: &mut other, pads: Pads { secrets: &others, subtract: &[true, false], info: INFO } },
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

    #[test]
    fn another_request_of_the_same_secret_has_another_pad() {
        let (mut one, mut other) = (vec![0; 500], vec![0; 500]);
        let both = vec![
            Hidden { words: &mut one, pads: Pads { secrets: &[[1; 32]], subtract: &[false], info: INFO } },
            Hidden { words: &mut other, pads: Pads { secrets: &[[1; 32]], subtract: &[true], info: b"another" } },
        ];
        add_pads(both, 1);
        assert!(one.iter().zip(&other).all(|(a, b)| a.wrapping_add(*b) != 0));
    }
}
