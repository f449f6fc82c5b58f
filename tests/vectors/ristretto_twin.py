"""Ristretto255 with Python's own integers, after the formulas of RFC 9496 and RFC 9380; slow, and for tests only."""

import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def sqrt_ratio(u, v):
    """Whether u/v is a square, and the root of it or of sqrt(-1) u/v that is not negative."""
    root = pow(2, (P - 1) // 4, P)
    r = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    check = v * r * r % P
    if check in (-u % P, -u * root % P):
        r = r * root % P
    return check in (u % P, -u % P), absolute(r)


def absolute(x):
    return P - x % P if x % P % 2 else x % P


ROOT = pow(2, (P - 1) // 4, P)
A_MINUS_D = sqrt_ratio(1, -1 - D)[1]
AD_MINUS_1 = sqrt_ratio(-D - 1, 1)[1]
if AD_MINUS_1 % 2 == 0:
    AD_MINUS_1 = P - AD_MINUS_1  # the standard's constant is the other root
ZERO = (0, 1, 1, 0)


def added(p, q):
    """Points in extended coordinates, on the Edwards curve with a = -1."""
    (x1, y1, z1, t1), (x2, y2, z2, t2) = p, q
    a, b = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = 2 * D * t1 * t2 % P, 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiple(n, p):
    out = ZERO
    for bit in bin(n)[2:]:
        out = added(out, out)
        if bit == "1":
            out = added(out, p)
    return out


def encoded(point):
    x, y, z, t = point
    u1, u2 = (z + y) * (z - y) % P, x * y % P
    _, inverse = sqrt_ratio(1, u1 * u2 * u2)
    d1, d2 = u1 * inverse % P, u2 * inverse % P
    z_inverse = d1 * d2 * t % P
    d = d2
    if t * z_inverse % P % 2:
        x, y, d = y * ROOT % P, x * ROOT % P, d1 * A_MINUS_D % P
    if x * z_inverse % P % 2:
        y = -y
    return absolute(d * (z - y)).to_bytes(32, "little")


def mapped(half):
    """A point from 32 uniform bytes."""
    r = ROOT * pow((int.from_bytes(half, "little") & 2**255 - 1) % P, 2, P) % P
    u, v = (r + 1) * (1 - D * D) % P, (-1 - r * D) * (r + D) % P
    square, s = sqrt_ratio(u, v)
    c = -1
    if not square:
        s = -absolute(s * ((int.from_bytes(half, "little") & 2**255 - 1) % P))
        c = r
    n = (c * (r - 1) * pow(D - 1, 2, P) - v) % P
    w0, w1, w2, w3 = 2 * s * v % P, n * AD_MINUS_1 % P, (1 - s * s) % P, (1 + s * s) % P
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P


def expanded(message, tag, n):
    end = tag + bytes([len(tag)])
    first = hashlib.sha512(bytes(128) + message + n.to_bytes(2, "big") + b"\0" + end).digest()
    out, before = b"", bytes(64)
    for i in range(-(-n // 64)):
        before = hashlib.sha512(
            bytes(a ^ b for a, b in zip(first, before, strict=True)) + bytes([i + 1]) + end
        ).digest()
        out += before
    return out[:n]


def hashed(message, tag):
    """The point of a message."""
    uniform = expanded(message, tag, 64)
    return added(mapped(uniform[:32]), mapped(uniform[32:]))
