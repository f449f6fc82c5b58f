//! Points of ristretto255 (RFC 9496): ids hashed to points (RFC 9380), and many points multiplied by a secret scalar.
//!
//! Multiplication, hashing to points and encoding take the same time whatever the scalar is. A point that comes in must be
//! canonically encoded and not the identity, which would stay itself under every scalar.

use curve25519_dalek::Scalar;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::traits::IsIdentity;
use sha2::{Digest, Sha512};

use crate::math::threads;

pub type Bytes = [u8; 32];

/// The longest tag that expansion takes as it is.
pub const LONGEST_TAG: usize = 255;
/// Bytes of a hash, and of the block it works on.
const HASH: usize = 64;
const BLOCK: usize = 128;
/// Points of one task; they are encoded together, which saves most of their square roots' cost.
const TASK: usize = 256;

/// expand_message_xmd of RFC 9380 with SHA-512: fills `out` with bytes that nobody can tell from uniform ones.
pub fn expand_message(message: &[u8], tag: &[u8], out: &mut [u8]) {
    assert!(tag.len() <= LONGEST_TAG && out.len() <= 255 * HASH);
    let end = [tag.len() as u8];
    let first = Sha512::new()
        .chain_update([0; BLOCK])
        .chain_update(message)
        .chain_update((out.len() as u16).to_be_bytes())
        .chain_update([0])
        .chain_update(tag)
        .chain_update(end)
        .finalize();
    let mut before = [0; HASH];
    for (i, part) in out.chunks_mut(HASH).enumerate() {
        let mut mixed: [u8; HASH] = first.into();
        mixed.iter_mut().zip(before).for_each(|(a, b)| *a ^= b);
        let number = [i as u8 + 1];
        before = Sha512::new()
            .chain_update(mixed)
            .chain_update(number)
            .chain_update(tag)
            .chain_update(end)
            .finalize()
            .into();
        part.copy_from_slice(&before[..part.len()]);
    }
}

/// hash_to_ristretto255 of RFC 9380: a point whose multiple of any other point nobody knows.
pub fn hash_to_point(message: &[u8], tag: &[u8]) -> RistrettoPoint {
    let mut uniform = [0; 64];
    expand_message(message, tag, &mut uniform);
    RistrettoPoint::from_uniform_bytes(&uniform)
}

/// The scalar that 64 uniform bytes stand for, all but uniform itself.
pub fn reduced(wide: &[u8; 64]) -> Bytes {
    Scalar::from_bytes_mod_order_wide(wide).to_bytes()
}

/// A secret scalar from its canonical bytes; 0 is none.
pub struct Secret {
    /// Half of it: points are doubled as they are encoded.
    half: Scalar,
}

impl Secret {
    pub fn of(bytes: Bytes) -> Option<Self> {
        let scalar: Scalar = Option::from(Scalar::from_canonical_bytes(bytes))?;
        (scalar != Scalar::ZERO).then(|| Self { half: scalar * Scalar::from(2u8).invert() })
    }

    fn encoded(&self, mut points: Vec<RistrettoPoint>) -> Vec<Bytes> {
        points.iter_mut().for_each(|point| *point *= self.half);
        RistrettoPoint::double_and_compress_batch(&points).iter().map(CompressedRistretto::to_bytes).collect()
    }
}

/// The point of each id under the secret; id i is the text up to `ends[i]`, from the end of the one before.
pub fn blind_ids(text: &[u8], ends: &[usize], tag: &[u8], secret: &Secret, n_threads: usize) -> Vec<Bytes> {
    let tasks: Vec<usize> = (0..ends.len()).step_by(TASK).collect();
    let start = |i: usize| if i == 0 { 0 } else { ends[i - 1] };
    let blinded = threads::map(n_threads, tasks, |first| {
        let ids = first..ends.len().min(first + TASK);
        secret.encoded(ids.map(|i| hash_to_point(&text[start(i)..ends[i]], tag)).collect())
    });
    blinded.concat()
}

/// The same points under the secret too; None if one of them is not a point, or is the identity.
pub fn blind_points(points: &[Bytes], secret: &Secret, n_threads: usize) -> Option<Vec<Bytes>> {
    let blinded = threads::map(n_threads, points.chunks(TASK).collect(), |points| {
        let decoded: Option<Vec<_>> = points.iter().map(decoded).collect();
        decoded.map(|points| secret.encoded(points))
    });
    Some(blinded.into_iter().collect::<Option<Vec<_>>>()?.concat())
}

fn decoded(bytes: &Bytes) -> Option<RistrettoPoint> {
    CompressedRistretto(*bytes).decompress().filter(|point| !point.is_identity())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        assert_eq!(hex.len(), 2 * N);
        std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
    }

    fn secret(n: u64) -> Secret {
        Secret::of(Scalar::from(n).to_bytes()).unwrap()
    }

    #[test]
    fn expands_messages_as_the_standard_does() {
        // RFC 9380, appendix K.3.
        let tag = b"QUUX-V01-CS02-with-expander-SHA512-256";
        let long = format!("q128_{}", "q".repeat(128));
        let longest = format!("a512_{}", "a".repeat(512));
        for (message, expected) in [
            ("", "6b9a7312411d92f921c6f68ca0b6380730a1a4d982c507211a90964c394179ba"),
            ("abc", "0da749f12fbe5483eb066a5f595055679b976e93abe9be6f0f6318bce7aca8dc"),
            ("abcdef0123456789", "087e45a86e2939ee8b91100af1583c4938e0f5fc6c9db4b107b83346bc967f58"),
            (&long, "7336234ee9983902440f6bc35b348352013becd88938d2afec44311caf8356b3"),
            (&longest, "57b5f7e766d5be68a6bfe1768e3c2b7f1228b3e4b3134956dd73a59b954c66f4"),
        ] {
            let mut out = [0; 32];
            expand_message(message.as_bytes(), tag, &mut out);
            assert_eq!(out, bytes(expected), "{message}");
        }
        let mut out = [0; 128];
        expand_message(b"abc", tag, &mut out);
        let expected = concat!(
            "7f1dddd13c08b543f2e2037b14cefb255b44c83cc397c1786d975653e36a6b11",
            "bdd7732d8b38adb4a0edc26a0cef4bb45217135456e58fbca1703cd6032cb134",
            "7ee720b87972d63fbf232587043ed2901bce7f22610c0419751c065922b48843",
            "1851041310ad659e4b23520e1772ab29dcdeb2002222a363f0c2b1c972b3efe1",
        );
        assert_eq!(out, bytes(expected));
    }

    #[test]
    fn uniform_bytes_become_the_points_of_the_standard() {
        // RFC 9496, appendix A.3, the first and the last.
        for (wide, expected) in [
            (
                concat!(
                    "5d1be09e3d0c82fc538112490e35701979d99e06ca3e2b5b54bffe8b4dc772c1",
                    "4d98b696a1bbfb5ca32c436cc61c16563790306c79eaca7705668b47dffe5bb6",
                ),
                "3066f82a1a747d45120d1740f14358531a8f04bbffe6a819f86dfe50f44a0a46",
            ),
            (
                concat!(
                    "2cdc11eaeb95daf01189417cdddbf95952993aa9cb9c640eb5058d09702c7462",
                    "2c9965a697a3b345ec24ee56335b556e677b30e6f90ac77d781064f866a3c982",
                ),
                "80bd07262511cdde4863f8a7434cef696750681cb9510eea557088f76d9e5065",
            ),
        ] {
            let point = RistrettoPoint::from_uniform_bytes(&bytes(wide));
            assert_eq!(point.compress().to_bytes(), bytes(expected));
        }
    }

    #[test]
    fn two_secrets_commute_and_the_threads_change_nothing() {
        let (text, ends) =
            (b"onetwothree".repeat(200), (0..600).map(|i| i / 3 * 11 + [3, 6, 11][i % 3]).collect::<Vec<_>>());
        let (a, b) = (secret(12345), secret(987));
        let one = blind_points(&blind_ids(&text, &ends, b"tag", &a, 1), &b, 3).unwrap();
        let other = blind_points(&blind_ids(&text, &ends, b"tag", &b, 2), &a, 1).unwrap();
        assert_eq!(one, other);
        assert_eq!(one.len(), 600);
        let plain = hash_to_point(b"three", b"tag") * Scalar::from(12345u32 * 987);
        assert_eq!(one[2], plain.compress().to_bytes());
        assert_eq!(one[599], one[2]);
    }

    #[test]
    fn neither_the_identity_nor_a_scalar_of_zero_is_taken() {
        let point = hash_to_point(b"x", b"tag").compress().to_bytes();
        assert!(blind_points(&[point], &secret(1), 1).is_some_and(|out| out == [point]));
        assert!(blind_points(&[point, [0; 32]], &secret(3), 1).is_none());
        assert!(Secret::of([0; 32]).is_none());
        assert!(Secret::of([255; 32]).is_none(), "not reduced");
    }
}
