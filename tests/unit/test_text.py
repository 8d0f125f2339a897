"""Characters and ids: there and back, and what is neither is named."""

import pytest

from blockproof.model.text import decode, encode
from blockproof.model.transformer import InputError

ALPHABET = "\n aäb"


@pytest.mark.parametrize("text", ["ab", "\n", "bäa \n", "aaaa", ALPHABET])
def test_there_and_back(text: str) -> None:
    ids = encode(text, ALPHABET)
    assert ids == [ALPHABET.index(character) for character in text]
    assert decode(ids, ALPHABET) == text


def test_without_an_alphabet_a_text_is_ids() -> None:
    assert encode(" 3 1  4\n", None) == [3, 1, 4]
    assert decode([3, 1, 4], None) == "3 1 4"


def test_ids_that_no_text_has() -> None:
    """Of a vocabulary that is larger than the alphabet."""
    assert decode([2, 5, 4, 99], ALPHABET) == "a�b�"


@pytest.mark.parametrize(
    ("text", "alphabet", "message"),
    [
        ("", ALPHABET, "the prompt is empty"),
        ("", None, "the prompt is empty"),
        ("abc", ALPHABET, r"no character 'c'; it has: '\\n aäb'"),
        ("A", ALPHABET, "no character 'A'"),
        ("1 b", None, "is ids such as '3 1 4'.*'b'"),
        ("1.5", None, "is ids such as '3 1 4'"),
    ],
)
def test_what_is_refused(text: str, alphabet: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        encode(text, alphabet)
