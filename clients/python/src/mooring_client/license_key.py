"""Reads a typed or pasted license key as the service does (docs/keys.md#license-keys)."""

from __future__ import annotations

import re
import unicodedata
from typing import Optional

from .problem import FieldError, LicenseProblem

_MAX_TYPED_LENGTH = 2_000
_SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_LONG_SOUND_MARKS = "\u30fc\uff70"
"""The Japanese `ー` and its half-width form, which input methods put in place of a hyphen."""
_WITH_UNDERSCORE = re.compile(r"([A-Za-z0-9]{2,12})_((?:[A-Za-z0-9]_?){16})")
_WITHOUT_UNDERSCORE = re.compile(r"([A-Za-z0-9]{2,12})?([A-Za-z0-9]{16})")
# Such as `Key `, `KEY:`, `1) `, or any words before a prefix with its underscore.
_LABEL = re.compile(
    rf"\A.*(?:[:\uff1a)][{_SPACE}]|(?:[Kk][Ee][Yy]|[Ss][Cc][Hh][Ll][Üü][Ss][Ss][Ee][Ll]|[Cc][Ll][Éé]|キー)[{_SPACE}:\uff1a]"
    rf"|[{_SPACE}](?=[A-Za-z0-9]{{2,12}}_))",
    re.DOTALL,
)
# How the Unicode names of Japanese, Chinese and Korean characters begin.
_EAST_ASIAN_NAME = re.compile(
    r"(?:HALFWIDTH |VERTICAL |CIRCLED |PARENTHESIZED )?"
    r"(?:CJK|KANGXI|HIRAGANA|HENTAIGANA|KATAKANA|KANA|HANGUL|HANGZHOU|IDEOGRAPH|IDEOGRAPHIC|MASU|COUNTING ROD|OLD CHINESE)\b"
)
# A key between words, in the text that `_outline` returns. It has its prefix and underscore, and a line may end after a dash.
_KEY_IN_OUTLINE = re.compile(
    r"(?<![A-Za-z0-9_\0])(?<![A-Za-z0-9_\0]-)[A-Za-z0-9]{2,12}_[A-Za-z0-9]{4}"
    r"(?:(?:[-~_][ >]{0,9})?[A-Za-z0-9]{4}){3}(?!-?[A-Za-z0-9_\0])"
)


def read_license_key(text: str) -> str:
    """Returns the canonical text of a key. A key that was typed without its prefix stays without one.

    Only the service knows the prefix. The check symbol is not checked, because imported keys may lack it. Raises
    LicenseProblem for a text that has not the shape of a key, or has several different keys: the service would refuse it with the
    same problem, so no request is needed.
    """
    if len(text.encode("utf-16-le", "surrogatepass")) // 2 > _MAX_TYPED_LENGTH:
        raise _invalid_key()
    ascii_text = _with_ascii_width(text)
    found = [_read_key_alone(match.group()) for match in _KEY_IN_OUTLINE.finditer(_outline(ascii_text))]
    key = found[0] if found else None
    key = key or _read_key_alone(_LABEL.sub("", text, count=1)) or _read_key_alone(text)
    if len(set(found)) > 1 or key is None:
        raise _invalid_key()
    return key


def _with_ascii_width(text: str) -> str:
    visible = (character for character in text if unicodedata.category(character) != "Cf")
    return "".join(_narrow(character) for character in visible)


def _narrow(character: str) -> str:
    is_wide = re.match("[０-９Ａ-Ｚａ-ｚ＿]", character)
    return unicodedata.normalize("NFKC", character) if is_wide else character


def _read_key_alone(text: str) -> Optional[str]:
    """Reads a text that has nothing but a license key and separators."""
    typed = "".join(character for character in _with_ascii_width(text) if not _is_separator(character))
    shape = _WITH_UNDERSCORE.fullmatch(typed) or _WITHOUT_UNDERSCORE.fullmatch(typed)
    if shape is None:
        return None
    prefix = f"{shape.group(1).upper()}_" if shape.group(1) else ""
    symbols = shape.group(2).upper().replace("_", "").translate(str.maketrans("OIL", "011"))
    return prefix + "-".join(symbols[start : start + 4] for start in range(0, 16, 4))


def _is_separator(character: str) -> bool:
    """Whether people, mail programs and input methods put this between the characters of a key."""
    if character == "_":
        return False
    category = unicodedata.category(character)
    is_symbol = category == "Cf" or category[0] in "SP" or character in _LONG_SOUND_MARKS
    return is_symbol or re.match(f"[{_SPACE}]", character) is not None


def _outline(text: str) -> str:
    """Replaces each character by an ASCII one of its kind, because `re` knows no Unicode categories.

    ASCII letters and digits, `_` and `>` (before a quoted line of a mail) stay. `-` is a dash, `~` another character that is typed
    as a dash, a space any white space, NUL a further character of a word, and `.` any other character. Japanese, Chinese and
    Korean write a key without a space beside it, so their characters are not those of a word.
    """
    return "".join(_outline_of(character) for character in text)


def _outline_of(character: str) -> str:
    if re.match(r"[A-Za-z0-9_>\0]", character):
        return character
    if re.match(f"[{_SPACE}]", character):
        return " "
    category = unicodedata.category(character)
    if category == "Pd":
        return "-"
    if character == "\u2212" or character in _LONG_SOUND_MARKS:
        return "~"
    is_word = category[0] in "LN" and not _is_east_asian(character)
    return "\0" if is_word else "."


def _is_east_asian(character: str) -> bool:
    return _EAST_ASIAN_NAME.match(unicodedata.name(character, "")) is not None


def _invalid_key() -> LicenseProblem:
    return LicenseProblem(
        status=422,
        code="invalid_request",
        client_action="fix",
        detail="At least one member of the request has the wrong shape; errors names each.",
        errors=(FieldError("/license_key", "must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX"),),
        extras={},
    )
