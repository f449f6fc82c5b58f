"""Noise, failure and statistical distance of the lattice cipher, computed; docs/explanation/lattice.md derives them.

**What a return could tell, and what hides it.** A sealed row carries an error that the key holder knows. The sum of the
errors of the chosen rows is in the result's noise and names its terms; so does, through the key, the randomness of the
encryption of zero that is added. A flood hides both. It is the sum of three uniform integers of w bits, centred: at
most 1.5 2^w. If p is its probability function, moving it by one step gives the squared Hellinger distance

    h = 1/2 sum (sqrt p(x + 1) - sqrt p(x))^2 <= .6 / 4^w        (w >= 6; in the limit .5703 / 4^w)

Moving it by d steps gives at most d^2 h (triangle inequality), and over all coefficients of a run the squares add up,
also when the moves depend on one another, because given everything else the floods are independent. Averaged over what
was drawn at random, d^2 becomes its mean. The total variation distance is at most sqrt(2) times the Hellinger one:

    distance <= sqrt(1.2 * coefficients * mean of d^2) / 2^w

It grows with the square root of what a run opens, not with all of it. The mean of d^2 is over errors that an honest key
holder draws as it should, and over the answering side's own randomness; choices do not depend on either.

**If the key holder cheats.** It may seal anything, and choose a key that is not as it should be. A key comes with a
proof (`native/src/lattice/proof.rs`) that 2 b = e - a s with s and e of bounded length, far longer than honest ones.
An answer hides with twice an encryption of zero, (2 b u, 2 a u + 2 e2), so that with these s and e its first half is
that of the sealed numbers, plus e u - s e2, plus the flood, and its second half looks uniform (RLWE in u). The flood
hides e u - s e2, too, up to `PROVEN_BITS`; what remains is what the wanted coefficients can carry, whatever was sealed.

**Whether it opens rightly.** All noise is bounded by its largest possible value, with one exception: rounding c1 when
two primes are dropped moves a coefficient by a sum of at most 4096 roundings, times the secret's -1, 0, 1. Its largest
value is 2049, for which plans with a modulus have room; with others, a value beyond `rounding_bound` has a probability
of 2^-64 in the whole run. (c1 is as good as uniform because of the encryption of zero in it. A rounding that is uniform
in an interval of length 1 has the mean of exp(x y) at most exp(x^2 / 24), like a normal one of its variance of 1/12.)

**What else fits in.** A flood leaves a part of a plaintext's step empty, and a key holder that cheats could use that.
In plans with a modulus the flood is hardly wider than it must be, and a *filling*, one more uniform integer, takes the
rest of the step. It need not hide any noise: the flood does, and what is independent of it uncovers nothing.
"""

import math

PRIMES = (133857281, 133644289, 67043329, 66994177, 133611521, 133513217, 133251073, 132825089)
"""1 modulo 16384; `native/src/lattice/ring.rs` has the same."""

STANDARD_BITS = {1024: 27, 2048: 54, 4096: 109, 8192: 218, 16384: 438}
"""The HE standard's table of 2018: the largest modulus, in bits, for 128-bit security with a ternary secret."""
CAUTIOUS_BITS = {4096: 106, 8192: 214}
"""Our moduli. Newer estimates allow some three bits less than the table; these keep to them."""

N = 4096
Q = math.prod(PRIMES[:4])
"""The modulus of sealed rows."""
DROPPED = math.prod(PRIMES[2:4])
"""What returns are divided by before they leave."""

LARGEST_ERROR = 21
ERROR_VARIANCE = 10.5
TERNARY_VARIANCE = 2 / 3
SMOOTHNESS = 0.6
"""h times 4^w."""
FLOOD_ENTROPY = 1.0375
"""Bits of entropy that a flood has beyond w (w >= 6; in the limit 1.0377): none of them can carry anything."""
MOST_FLOOD = 99
"""Bits of each of a flood's integers: what the sampler draws."""
SPARE_BITS = 8
"""Of a flood beside a filling: beyond those that hide, as long as the flood takes no more than this share of a step."""
SPARE_SHARE = 2.0**-8
PROVEN_BITS = 20
"""What a key holder that cheats with a proven key learns beside the room of the answers of a whole run, in statistical
distance: at most 2 to the minus this. (In bits of information it is about the square of that.)"""
MASK_FACTORS = {4096: (7, 28), 8192: (10, 40)}
"""Last factors of the proof's masks for secret and error; `proof.rs` has the same."""
UNHASHED_BITS = {4096: 13, 8192: 14}
"""Lowest bits of a proof's commitments that are not hashed; they are left out of its answers for the error."""
ANSWER_SLACK = 1.1
"""Answers of a proof are at most so much longer than they are in the mean."""
EXTRACTED = 1 / math.sin(math.pi / 512)
"""What 2 / (c - c') for two challenges lengthens a polynomial by, at most."""
FAILURE_BITS = 64
"""A run opens something wrong with a probability of at most 2 to the minus this."""

ZERO_VARIANCE = 2 * N * TERNARY_VARIANCE * ERROR_VARIANCE + ERROR_VARIANCE
"""Noise of an encryption of zero, u e + e1 + e2 s, in a coefficient."""
ZERO_LARGEST = (2 * N + 1) * LARGEST_ERROR
TWICE = 2
"""How often an encryption of zero is added to hide an answer: keys are proven to be well formed when doubled."""
ROUNDED_LARGEST = (N + 1) // 2 + 1
"""What dropping a prime moves a coefficient by, in steps of what is left: c0's rounding, and c1's times the secret."""
SWITCH_LARGEST = 3 * N * 2**27 * LARGEST_ERROR + ROUNDED_LARGEST * PRIMES[3]
"""Noise that one key switch adds: three digits of 27 bits, each times an error polynomial, and a prime is dropped."""


def merging_noise(merges: int) -> int:
    """What merging adds: each step doubles what was added before, by dropping a prime and by key switches."""
    return ((1 << merges) - 1) * SWITCH_LARGEST + (1 << merges) * ROUNDED_LARGEST * PRIMES[3] if merges else 0


def row_variance(parts: int, by_public_key: bool) -> float:
    """Noise of a coefficient of sealed rows that were added up from so many parts."""
    return parts * (ZERO_VARIANCE if by_public_key else ERROR_VARIANCE)


def shift(ones: int, variance: float) -> float:
    """Root of the mean square that a flood must hide: so many ones in a selection, and the encryption of zero."""
    return math.sqrt(ones * variance + TWICE**2 * ZERO_VARIANCE)


def flood_distance(moved: float, bits: int, coefficients: float) -> float:
    """Statistical distance over so many coefficients, each moved by `moved` (root of the mean square, or largest)."""
    return math.ldexp(math.sqrt(2 * SMOOTHNESS * coefficients) * moved, -bits)


def carried(modulus: int, bits: int, filling: int = 0) -> float:
    """Bits that one flooded coefficient can carry at most, whatever was sealed and chosen: the channel's capacity.

    Flood and filling together have at least the entropy of either.
    """
    return math.log2(modulus) - max(bits + FLOOD_ENTROPY, math.log2(max(filling, 1)))


def mask_deviation(last: int) -> float:
    """Standard deviation of a proof's masks; `gaussian.rs` has the same."""
    return math.prod((6.0, math.hypot(1, 3), math.hypot(1, 12), math.hypot(1, last)))


def answer_deviations(n: int) -> tuple[float, float]:
    """Of a proof's answers for secret and error; unhashed bits are uniform."""
    secret, error = map(mask_deviation, MASK_FACTORS[n])
    return secret, math.hypot(error, 2 ** UNHASHED_BITS[n] / math.sqrt(12))


def proven_shift(n: int) -> float:
    """Root of the mean square of a coefficient of e u - s e2, for the longest s and e that a key's proof allows."""
    secret, error = (2 * EXTRACTED * ANSWER_SLACK * each * math.sqrt(n) for each in answer_deviations(n))
    return math.hypot(error * math.sqrt(TERNARY_VARIANCE), secret * math.sqrt(ERROR_VARIANCE))


def proven_distance(n: int, bits: int, coefficients: float) -> float:
    """What a proven key can read of such floods beside the room of the answers."""
    return flood_distance(proven_shift(n), bits, coefficients)


def rounding_bound(coefficients: float) -> float:
    """What rounding moves a coefficient by, but for a probability of 2^-64 over so many coefficients.

    Over infinitely many it is the largest possible value.
    """
    exponent = (FAILURE_BITS + 1) * math.log(2) + math.log(coefficients)
    return min(math.sqrt(N / 6 * exponent) + 2, (N + 1) / 2 + 1)


def noise_without_flood(ones: int, by_public_key: bool, merges: int, coefficients: float) -> float:
    """The largest noise of one part of a return but for its flood, in steps of the full modulus."""
    row = ZERO_LARGEST if by_public_key else LARGEST_ERROR
    return float(ones * row + TWICE * ZERO_LARGEST + merging_noise(merges)) + rounding_bound(coefficients) * DROPPED


def added_room(step: float, parts: int, noise: float) -> float:
    """How far what is added may move every part of a return and still be less than half a step of the plaintext."""
    return step * (0.5 - 2.0**-20) / parts - noise - 2


def flood_room(step: float, parts: int, noise: float) -> int:
    """Bits w of the widest flood that has room within a step of the plaintext; 0: none."""
    room = added_room(step, parts, noise)
    return min(max(math.floor(math.log2(room / 1.5)), 0), MOST_FLOOD) if room > 1.5 else 0
