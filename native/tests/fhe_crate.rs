//! Against the `fhe` crate, with our primes and plaintext moduli up to 2^26: what we seal its key opens, what it seals
//! ours opens.

use std::sync::Arc;

use _native::lattice::pack::{pack, packed_len};
use _native::lattice::random::system_seed;
use _native::lattice::ring::{Factor, PRIMES, Prime, Ring, power};
use _native::lattice::seal::{self, Opener};
use _native::lattice::slots::{self, BYTES, Layout, Leaving, Public, Sealed};
use fhe::bfv::{BfvParameters, BfvParametersBuilder, Ciphertext, Encoding, Plaintext, SecretKey};
use fhe_math::rq::traits::TryConvertFrom;
use fhe_math::rq::{Poly, Representation};
use fhe_traits::{DeserializeParametrized, FheDecoder, FheDecrypter, FheEncoder, FheEncrypter, Serialize};

const T: u32 = 65_537;

fn parameters(n: usize, primes: usize, t: u64) -> Arc<BfvParameters> {
    let moduli: Vec<u64> = PRIMES[..primes].iter().map(|&p| u64::from(p)).collect();
    let mut builder = BfvParametersBuilder::new();
    builder.set_degree(n).set_plaintext_modulus(t).set_moduli(&moduli);
    builder.build_arc().expect("parameters of the crate")
}

/// Small numbers as the crate writes secret keys: field 1, packed, each number's sign in its lowest bit.
fn their_secret(coefficients: &[i8], parameters: &Arc<BfvParameters>) -> SecretKey {
    let numbers: Vec<u8> = coefficients.iter().map(|&x| ((x << 1) ^ (x >> 7)) as u8).collect();
    assert!(numbers.iter().all(|&x| x < 128));
    let length = [(numbers.len() & 127) as u8 | 128, (numbers.len() >> 7) as u8];
    let bytes: Vec<u8> = [0x0a].into_iter().chain(length).chain(numbers).collect();
    SecretKey::from_bytes(&bytes, parameters).expect("a key")
}

/// The same read back: numbers of a fresh key of the crate are small too.
fn our_secret(secret: &SecretKey) -> Vec<i8> {
    let bytes = secret.to_bytes();
    bytes[3..].iter().map(|&x| (x >> 1) as i8 ^ -((x & 1) as i8)).collect()
}

/// A ciphertext of the crate from the coefficients of both halves, prime after prime.
fn their_ciphertext(halves: [Vec<u32>; 2], parameters: &Arc<BfvParameters>) -> Ciphertext {
    let context = parameters.context_at_level(0).expect("the first level");
    let poly = |half: Vec<u32>| {
        let words: Vec<u64> = half.into_iter().map(u64::from).collect();
        let mut poly = Poly::try_convert_from(words, context, false, Representation::PowerBasis).expect("a polynomial");
        poly.change_representation(Representation::Ntt);
        poly
    };
    Ciphertext::new(halves.map(poly).into(), parameters).expect("a ciphertext")
}

fn coefficients(ciphertext: &Ciphertext, half: usize) -> Vec<u32> {
    let mut poly = ciphertext[half].clone();
    poly.change_representation(Representation::PowerBasis);
    poly.coefficients().iter().map(|&x| x as u32).collect()
}

fn their_opened(ciphertext: &Ciphertext, secret: &SecretKey) -> Vec<u64> {
    let plaintext = secret.try_decrypt(ciphertext).expect("opens");
    Vec::<u64>::try_decode(&plaintext, Encoding::poly()).expect("coefficients")
}

fn their_sealed(message: &[u64], secret: &SecretKey, parameters: &Arc<BfvParameters>) -> Ciphertext {
    let plaintext = Plaintext::try_encode(message, Encoding::poly(), parameters).expect("a plaintext");
    secret.try_encrypt(&plaintext, &mut rand::rng()).expect("a ciphertext")
}

/// Slots of a polynomial modulo t, one by one.
fn slots_of(polynomial: &[u64]) -> Vec<i64> {
    let roots = (2..T).map(|g| power(g, u64::from(T - 1) / 16_384, T));
    let root = roots.into_iter().find(|&root| power(root, 8192, T) == T - 1).expect("a root");
    let value = |exponent: usize| {
        let x = u64::from(power(root, exponent as u64, T));
        polynomial.iter().rev().fold(0, |sum, &c| (sum * x + c) % u64::from(T))
    };
    let signed = |x: u64| x as i64 - if x > u64::from(T) / 2 { i64::from(T) } else { 0 };
    Ring::of_8192().exponents().into_iter().map(value).map(signed).collect()
}

fn layout() -> Layout {
    Layout { rows: 4096, entries: 2, block_rows: 4096, lanes: 2, moduli: vec![T] }
}

/// Row-major values of the slots of one ciphertext.
fn as_table(slots: &[i64]) -> Vec<i64> {
    (0..4096).flat_map(|row| [slots[row], slots[4096 + row]]).collect()
}

#[test]
fn slots_that_we_seal_and_answer_open_with_the_crate() {
    let (seed, key_seed) = (system_seed(), system_seed());
    let (own_secret, half) = slots::new_key(&key_seed, 8);
    let values: Vec<i64> = (0..8192).map(|i| (i * 7919) % 60_001 - 30_000).collect();
    let mut bytes = vec![0; 4 * BYTES];
    slots::seal(&values, &layout(), &own_secret, &seed, 4, &mut bytes, 2);
    let sealed = Sealed { bytes: &bytes, primes: 4, seed: Some(&seed), transformed: true };
    let choice: Vec<bool> = (0..8192).map(|i| i % 3 == 0).collect();
    let leaving = Leaving { flood_bits: 80, primes: 2 };
    let mut back = vec![0; leaving.bytes_each()];
    slots::filter(sealed, &choice, &layout(), false, &Public::read(&half, &key_seed, 4), leaving, &mut back, 2);
    let returned = Sealed { bytes: &back, primes: 2, seed: None, transformed: false };
    let chosen: Vec<i64> = values.iter().zip(&choice).map(|(&v, &c)| v * i64::from(c)).collect();
    for (sealed, wanted) in [(sealed, &values), (returned, &chosen)] {
        let parameters = parameters(8192, sealed.primes, u64::from(T));
        let halves = [0, 1].map(|half| slots::coefficients(sealed, 0, half));
        let opened = their_opened(&their_ciphertext(halves, &parameters), &their_secret(&own_secret, &parameters));
        assert_eq!(&as_table(&slots_of(&opened)), wanted);
    }
}

#[test]
fn what_the_crate_seals_opens_with_our_slots() {
    let parameters = parameters(8192, 4, u64::from(T));
    let secret = SecretKey::random(&parameters, &mut rand::rng());
    let message: Vec<u64> = (0..8192).map(|i| (i * i * 31 + 5) % u64::from(T)).collect();
    let ciphertext = their_sealed(&message, &secret, &parameters);
    let mut bytes = vec![0; 8 * BYTES];
    for (half, bytes) in bytes.chunks_mut(4 * BYTES).enumerate() {
        let words = coefficients(&ciphertext, half);
        bytes.chunks_mut(BYTES).zip(words.chunks(8192)).for_each(|(bytes, words)| pack(words, bytes));
    }
    let sealed = Sealed { bytes: &bytes, primes: 4, seed: None, transformed: false };
    let mut opened = vec![0; 8192];
    slots::open(sealed, &layout(), false, &our_secret(&secret), &mut opened, 2);
    assert_eq!(opened, as_table(&slots_of(&message)));
}

const ROW_T: u64 = 1 << 26;

fn words_of(ring: &[Prime], transformed: impl Fn(usize) -> Vec<u32>) -> Vec<u32> {
    let restored = |(l, prime): (usize, &Prime)| {
        let mut words = transformed(l);
        prime.restore(&mut words);
        words
    };
    ring.iter().enumerate().flat_map(restored).collect()
}

#[test]
fn rows_that_we_seal_open_with_the_crate() {
    let (ring, n) = (&Ring::of_4096().primes, seal::N);
    let scale = PRIMES[..4].iter().map(|&p| u128::from(p)).product::<u128>() / u128::from(ROW_T);
    let scales: Vec<u32> = ring.iter().map(|prime| prime.reduce_wide(scale)).collect();
    let values: Vec<i64> = (0..n as i64).map(|i| (i * 7919) % (1 << 25) - (1 << 24)).collect();
    let (own_secret, seed) = (seal::new_secret(), system_seed());
    let mut payload = vec![0; seal::PRIMES * seal::PACKED];
    seal::seal_rows(&own_secret, &seed, &values, 1, n, &scales, &mut payload, 2);
    let mut rows = vec![0; seal::KEY];
    seal::Sealed { payload: &payload, seed: Some(seed), lanes: 1 }.read(&mut rows, 2 * n, 2);
    let halves = [0, 1].map(|half| words_of(ring, |l| rows[n * (2 * l + half)..n * (2 * l + half + 1)].to_vec()));
    let small = words_of(&ring[..1], |_| own_secret[..n].to_vec());
    let small: Vec<i8> = small.iter().map(|&x| if x > 1 { -1 } else { x as i8 }).collect();
    let parameters = parameters(n, 4, ROW_T);
    let opened = their_opened(&their_ciphertext(halves, &parameters), &their_secret(&small, &parameters));
    // Row j stands at X^-j, which is -X^(n - j).
    let signed = |x: u64| x as i64 - if x > ROW_T / 2 { ROW_T as i64 } else { 0 };
    let found: Vec<i64> = (0..n).map(|j| if j == 0 { signed(opened[0]) } else { -signed(opened[n - j]) }).collect();
    assert_eq!(found, values);
}

#[test]
fn what_the_crate_seals_opens_as_our_returns() {
    let (ring, n) = (&Ring::of_4096().primes, seal::N);
    let parameters = parameters(n, 2, ROW_T);
    let secret = SecretKey::random(&parameters, &mut rand::rng());
    let message: Vec<u64> = (0..n as u64).map(|i| (i * i * 104_729) % ROW_T).collect();
    let ciphertext = their_sealed(&message, &secret, &parameters);
    let mut key = Vec::new();
    for prime in ring {
        let mut s: Vec<u32> = our_secret(&secret).iter().map(|&x| prime.lift(i32::from(x))).collect();
        prime.transform(&mut s);
        key.extend_from_slice(&s);
        key.extend(s.iter().map(|&s| Factor::new(s, prime.p).s));
    }
    let [c0, c1] = [0, 1].map(|half| coefficients(&ciphertext, half));
    let mut bytes = vec![0; 4 * packed_len(n)];
    bytes.chunks_mut(packed_len(n)).zip(c1.chunks(n).chain(c0.chunks(n))).for_each(|(bytes, words)| pack(words, bytes));
    let q = u128::from(PRIMES[0]) * u128::from(PRIMES[1]);
    let opener = Opener { step: 1, factor: (((1 << 90) / q) << 26) as u64, shift: 90 };
    let wanted: Vec<u32> = (0..n as u32).collect();
    let opened = seal::open_return(&key, &bytes, &wanted, &opener).expect("well formed");
    assert!(opened.iter().zip(&message).all(|(&x, &m)| x.rem_euclid(ROW_T as i64) == m as i64));
}
