"""Ed25519: the published vectors, and inputs at the limits of the rules, by each implementation."""

from __future__ import annotations

import hashlib
import os
import random
import unittest
from typing import Dict, Iterator, List, Tuple

from mooring_client import ed25519
from mooring_client.ed25519 import Point, Verify, decode_point, encode_point, is_public_key, multiply
from mooring_client.trusted_key import trusted_key

from .support.signer import ORDER, Signer

# RFC 8032, section 7.1: secret key, public key, message and signature.
RFC_8032: List[Tuple[str, str, str, str]] = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").hexdigest(),
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
]

SEED = int(os.environ.get("MOORING_SEED", random.SystemRandom().randrange(2**31)))

by_library = ed25519.verify_with_cryptography()
IMPLEMENTATIONS: Dict[str, Verify] = {
    "this package": ed25519.verify_in_python,
    **({"cryptography": by_library} if by_library else {}),
}


def torsion_points() -> List[Point]:
    """The eight points of small order. ORDER is that of the base point, so ORDER times any point has small order."""
    for y in range(2, 200):
        point = decode_point(y.to_bytes(32, "little"))
        torsion = point and multiply(ORDER, point)
        # One whose fourth multiple is not neutral generates all eight.
        if torsion and encode_point(multiply(4, torsion)) != encode_point(multiply(0, torsion)):
            return [multiply(factor, torsion) for factor in range(8)]
    raise AssertionError("there is no point of order 8")



def inputs(generator: random.Random) -> Iterator[Tuple[str, bytes, bytes, bytes, bool]]:
    """Yields inputs with the result that follows from how they are made."""
    signer = Signer(generator.getrandbits(256).to_bytes(32, "little"))
    message = generator.getrandbits(generator.choice([8, 800])).to_bytes(100, "little")
    signature = signer.sign(message)
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    key = signer.public_key
    yield "a signature", key, message, signature, True
    yield "another message", key, message + b"\0", signature, False
    yield "S + L", key, message, r + (s + ORDER).to_bytes(32, "little"), False
    yield "the largest S", key, message, r + b"\xff" * 32, False
    yield "no bytes", key, message, b"", False
    yield "63 bytes", key, message, signature[:-1], False
    yield "65 bytes", key, message, signature + b"\0", False
    for _ in range(8):
        bit = generator.randrange(512)
        changed = bytearray(signature)
        changed[bit // 8] ^= 1 << bit % 8
        yield f"bit {bit} changed", key, message, bytes(changed), False
    yield "R with a part of small order", key, message, _with_torsion_in_r(signer, message, generator.randrange(1, 8)), False
    yield "R and S are zero", key, message, bytes(64), False
    yield "R is neutral, S is zero", key, message, b"\x01" + bytes(63), False
    yield from _keys_with_a_part_of_small_order(signer, message)


def _with_torsion_in_r(signer: Signer, message: bytes, index: int) -> bytes:
    """A signature for R + T. Only a verifier that multiplies by the cofactor accepts it."""
    nonce = int.from_bytes(hashlib.sha512(signer.seed + message).digest(), "little") % ORDER
    point = encode_point(ed25519.add(multiply(nonce, ed25519.BASE), torsion_points()[index]))
    k = int.from_bytes(hashlib.sha512(point + signer.public_key + message).digest(), "little") % ORDER
    return point + ((nonce + k * signer.secret) % ORDER).to_bytes(32, "little")


def _keys_with_a_part_of_small_order(signer: Signer, message: bytes) -> Iterator[Tuple[str, bytes, bytes, bytes, bool]]:
    """A + T is another key. Without a cofactor, a signature with the secret of A is valid for it only if k·T is neutral."""
    torsion = torsion_points()[1]
    key = encode_point(ed25519.add(_decoded(signer.public_key), torsion))
    nonce = int.from_bytes(hashlib.sha512(signer.seed + message).digest(), "little") % ORDER
    point = encode_point(multiply(nonce, ed25519.BASE))
    found = {True: False, False: False}
    for number in range(200):
        text = message + bytes([number])
        k = int.from_bytes(hashlib.sha512(point + key + text).digest(), "little") % ORDER
        is_valid = k % 8 == 0
        if not found[is_valid]:
            found[is_valid] = True
            s = (nonce + k * signer.secret) % ORDER
            yield f"a key with a part of small order, k mod 8 = {k % 8}", key, text, point + s.to_bytes(32, "little"), is_valid


def _decoded(encoded: bytes) -> Point:
    point = decode_point(encoded)
    assert point is not None
    return point


class Ed25519(unittest.TestCase):
    """Each implementation that this computer has"""

    def test_vectors_of_rfc_8032(self) -> None:
        for name, verify in IMPLEMENTATIONS.items():
            for secret, public, message, signature in RFC_8032:
                arguments = (bytes.fromhex(public), bytes.fromhex(message), bytes.fromhex(signature))
                self.assertTrue(verify(*arguments), name)
                self.assertFalse(verify(arguments[0], b"x" + arguments[1], arguments[2]), name)
                signer = Signer(bytes.fromhex(secret))
                self.assertEqual((signer.public_key, signer.sign(arguments[1])), (arguments[0], arguments[2]))

    def test_inputs_at_the_limits(self) -> None:
        generator = random.Random(SEED)
        for _ in range(6):
            for what, key, message, signature, is_valid in inputs(generator):
                self.assertTrue(is_public_key(key))
                for name, verify in IMPLEMENTATIONS.items():
                    self.assertIs(verify(key, message, signature), is_valid, f"{what}, {name}, MOORING_SEED={SEED}")

    def test_random_bytes(self) -> None:
        """Each implementation refuses random signatures under random keys."""
        generator = random.Random(SEED)
        for _ in range(40):
            key, message, signature = (generator.getrandbits(8 * size).to_bytes(size, "little") for size in (32, 9, 64))
            if is_public_key(key):
                found = {verify(key, message, signature) for verify in IMPLEMENTATIONS.values()}
                self.assertEqual(found, {False}, f"MOORING_SEED={SEED}")


class PublicKeys(unittest.TestCase):
    """The keys that an application may ship"""

    def test_points_of_small_order_are_refused(self) -> None:
        points = torsion_points()
        self.assertEqual(len({encode_point(point) for point in points}), 8)
        for point in points:
            self.assertFalse(is_public_key(encode_point(point)))

    def test_other_encodings_of_a_point_are_refused(self) -> None:
        prime = 2**255 - 19
        # y = 1 and y = prime + 1 are the same point, and so are x = 0 and x = -0.
        for number in (prime + 1, prime, 2**255 + 1, 2**256 - 1, 2**255 - 1):
            self.assertIsNone(decode_point(number.to_bytes(32, "little")), hex(number))

    def test_a_key_is_32_bytes_of_canonical_base64url(self) -> None:
        x = Signer.make().x
        self.assertEqual(len(trusted_key(x).public_key), 32)
        for wrong in ("", x[:-1], x + "A", x + "=", x[:-1] + "B", " " + x[1:], "A" * 43, "_" * 42 + "8"):
            with self.assertRaisesRegex(ValueError, "must be an Ed25519 public key"):
                trusted_key(wrong)

    def test_numbers_that_are_no_point_are_refused(self) -> None:
        points = [decode_point(y.to_bytes(32, "little")) for y in range(64)]
        self.assertIn(None, points)
        for y, point in enumerate(points):
            if point is not None:
                self.assertEqual(encode_point(point), y.to_bytes(32, "little"))
