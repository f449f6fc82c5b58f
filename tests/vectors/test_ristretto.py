"""Known answers for blinded ids: RFC 9380, RFC 9496, RFC 9497, and a slow twin."""

import os

import numpy as np
import pytest
import ristretto_twin as twin
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hedgerow import _native

ONE = (1).to_bytes(32, "little")

# RFC 9497, appendix A.1.1, vectors 1 and 2.
OPRF_TAG = b"HashToGroup-OPRFV1-\x00-ristretto255-SHA512"
OPRF_SCALAR = "5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e"
OPRF_BLIND = "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706"
OPRF = [
    (
        "00",
        "609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c",
        "7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e",
    ),
    (
        "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
        "da27ef466870f5f15296299850aa088629945a17d1f5b7f5ff043f76b3c06418",
        "b4cbf5a4f1eeda5a63ce7b77c7d23f461db3fcab0dd28e4e17cecb5c90d02c25",
    ),
]

# RFC 9496, appendix A.1: multiples of the generator, from 1 on.
MULTIPLES = [
    "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76",
    "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919",
    "94741f5d5d52755ece4f23f044ee27d5d1ea1e2bd196b462166b16152a9d0259",
    "da80862773358b466ffadfe0b3293ab3d9fd53c5ea6c955358f568322daf6a57",
    "e882b131016b52c1d3337080187cf768423efccbb517bb495ab812c4160ff44e",
    "f64746d3c92b13050ed8d80236a7f0007c3b3f962f5ba793d19a601ebb1df403",
    "44f53520926ec81fbd5a387845beb7df85a96a24ece18738bdcfa6a7822a176d",
    "903293d8f2287ebe10e2374dc1a53e0bc887e592699f02d077d5263cdd55601c",
    "02622ace8f7303a31cafc63f8fc48fdc16e1c8c8d234b2f0d6685282a9076031",
    "20706fd788b2720a1ed2a5dad4952b01f413bcf0e7564de8cdc816689e2db95f",
    "bce83f8ba5dd2fa572864c24ba1810f9522bc6004afe95877ac73241cafdab42",
    "e4549ee16b9aa03099ca208c67adafcafa4c3f3e4e5303de6026e3ca8ff84460",
    "aa52e000df2e16f55fb1032fc33bc42742dad6bd5a8fc0be0167436c5948501f",
    "46376b80f409b29dc2b5f6f0c52591990896e5716f41477cd30085ab7f10301e",
    "e0c418f7c8d9c4cdd7395b93ea124f3ad99021bb681dfc3302a9d99a2e53e64e",
]

# Appendix A.2: not canonical, negative, not square, negative product, y = 0; and the identity, which is a point.
REFUSED = [
    "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ed57ffd8c914fb201471d1c3d245ce3c746fcbe63a3679d51b6a516ebebe0e20",
    "c34c4e1826e5d403b78e246e88aa051c36ccf0aafebffe137d148a2bf9104562",
    "c940e5a4404157cfb1628b108db051a8d439e1a421394ec4ebccb9ec92a8ac78",
    "47cfc5497c53dc8e61c91d17fd626ffb1c49e2bca94eed052281b510b1117a24",
    "f1c6165d33367351b0da8f6e4511010c68174a03b6581212c71c0e1d026c3c72",
    "87260f7a2f12495118360f02c26a470f450dadf34a413d21042b43b9d93e1309",
    "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
    "4eac077a713c57b4f4397629a4145982c661f48044dd3f96427d40b147d9742f",
    "de6a7b00deadc788eb6b6c8d20c0ae96c2f2019078fa604fee5b87d6e989ad7b",
    "bcab477be20861e01e4a0e295284146a510150d9817763caf1a6f4b422d67042",
    "2a292df7e32cababbd9de088d1d1abec9fc0440f637ed2fba145094dc14bea08",
    "f4a9e534fc0d216c44b218fa0c42d99635a0127ee2e53c712f70609649fdff22",
    "8268436f8c4126196cf64b3c7ddbda90746a378625f9813dd9b8457077256731",
    "2810e5cbc2cc4d4eece54f61c6f69758e289aa7ab440b3cbeaa21995c2f4232b",
    "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e",
    "a45fdc55c76448c049a1ab33f17023edfb2be3581e9c7aade8a6125215e04220",
    "d483fe813c6ba647ebbfd3ec41adca1c6130c2beeee9d9bf065c8d151c5f396e",
    "8a2e1d30050198c65a54483123960ccc38aef6848e1ec8f5f780e8523769ba32",
    "32888462f8b486c68ad7dd9610be5192bbeaf3b443951ac1a8118419d9fa097b",
    "227142501b9d4355ccba290404bde41575b037693cef1f438c47f8fbf35d1165",
    "5c37cc491da847cfeb9281d407efc41e15144c876e0170b499a96a22ed31e01e",
    "445425117cb8c90edcbc7c1cc0e74f747f2c1efa5630a967c64f287792a48a4b",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
]


def points(*hexes):
    return np.frombuffer(bytes.fromhex("".join(hexes)), np.uint8).reshape(-1, 32)


def blind_ids(texts, tag, scalar=ONE, threads=1):
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return _native.blind_ids(b"".join(texts), ends, tag, scalar, threads)


@pytest.mark.parametrize(("text", "blinded", "evaluated"), OPRF)
def test_ids_become_the_published_points_and_are_blinded_again_to_the_published_ones(text, blinded, evaluated):
    found = blind_ids([bytes.fromhex(text)], OPRF_TAG, bytes.fromhex(OPRF_BLIND))
    assert found.tobytes().hex() == blinded
    assert _native.blind_points(found, bytes.fromhex(OPRF_SCALAR), 1).tobytes().hex() == evaluated


def test_multiples_of_the_generator_are_the_published_ones():
    for n, expected in enumerate(MULTIPLES, 1):
        found = _native.blind_points(points(MULTIPLES[0]), n.to_bytes(32, "little"), 1)
        assert found.tobytes().hex() == expected


@pytest.mark.parametrize("bad", REFUSED)
@pytest.mark.parametrize("at", [0, 300])
def test_what_is_not_a_point_is_refused_and_so_is_the_identity(bad, at):
    many = np.concatenate([np.repeat(points(MULTIPLES[2]), at, axis=0), points(bad), points(MULTIPLES[1])])
    with pytest.raises(ValueError, match="not one of the group, or is its identity"):
        _native.blind_points(many, ONE, 2)


# RFC 9380, appendix K.3; the native part is compared with all of them in its own tests.
@pytest.mark.parametrize(
    ("message", "n", "expected"),
    [
        (b"", 32, "6b9a7312411d92f921c6f68ca0b6380730a1a4d982c507211a90964c394179ba"),
        (b"abc", 32, "0da749f12fbe5483eb066a5f595055679b976e93abe9be6f0f6318bce7aca8dc"),
        (b"q128_" + b"q" * 128, 32, "7336234ee9983902440f6bc35b348352013becd88938d2afec44311caf8356b3"),
        (b"abc", 128, "7f1dddd13c08b543f2e2037b14cefb255b44c83cc397c1786d975653e36a6b11bdd7732d8b38adb4"
                      "a0edc26a0cef4bb45217135456e58fbca1703cd6032cb1347ee720b87972d63fbf232587043ed290"
                      "1bce7f22610c0419751c065922b488431851041310ad659e4b23520e1772ab29dcdeb2002222a363"
                      "f0c2b1c972b3efe1"),
    ],
)  # fmt: skip
def test_the_twin_expands_messages_as_published(message, n, expected):
    assert twin.expanded(message, b"QUUX-V01-CS02-with-expander-SHA512-256", n).hex() == expected


@given(st.lists(st.binary(max_size=200), max_size=5), st.binary(max_size=255), st.integers(1, twin.ORDER - 1))
@settings(max_examples=25, deadline=None)
@example([b"", b"one", b"one"], b"", 1)
@example([b"x" * 200], b"t" * 255, twin.ORDER - 1)
def test_ids_become_the_points_that_the_twin_finds(texts, tag, secret):
    found = blind_ids(texts, tag, secret.to_bytes(32, "little"), 2)
    assert [row.tobytes() for row in found] == [
        twin.encoded(twin.multiple(secret, twin.hashed(text, tag))) for text in texts
    ]


def test_secrets_are_uniform_bytes_reduced():
    for wide in (os.urandom(64), bytes(64), b"\xff" * 64):
        expected = int.from_bytes(wide, "little") % twin.ORDER
        assert _native.reduce_scalar(wide) == expected.to_bytes(32, "little")


@pytest.mark.parametrize("scalar", [bytes(32), twin.ORDER.to_bytes(32, "little"), b"\xff" * 32])
def test_a_scalar_that_is_zero_or_not_reduced_is_refused(scalar):
    with pytest.raises(ValueError, match="0 or not reduced"):
        _native.blind_points(points(MULTIPLES[0]), scalar, 1)
    with pytest.raises(ValueError, match="0 or not reduced"):
        blind_ids([b"x"], b"tag", scalar)


@pytest.mark.parametrize(
    ("ends", "tag", "message"),
    [
        ([2, 1], b"t", "do not end within the text"),
        ([1, 9], b"t", "do not end within the text"),
        ([-1, 2], b"t", "do not end within the text"),
        ([1, 2], b"t" * 256, "longer than 255 bytes"),
    ],
)
def test_ids_that_do_not_fit_together_are_refused(ends, tag, message):
    with pytest.raises(ValueError, match=message):
        _native.blind_ids(b"abc", np.array(ends), tag, ONE, 1)


@pytest.mark.parametrize("bad", [np.zeros((2, 31), np.uint8), np.zeros((4, 64), np.uint8)[:, ::2]])
def test_points_that_are_not_rows_of_32_bytes_are_refused(bad):
    with pytest.raises(ValueError, match="contiguous rows of 32 bytes"):
        _native.blind_points(bad, ONE, 1)
