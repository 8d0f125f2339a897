"""Characters to token ids and back, by the alphabet that a checkpoint keeps."""

from collections.abc import Sequence

from blockproof.model.transformer import InputError


def encode(text: str, alphabet: str | None) -> list[int]:
    """Token ids of a text; without an alphabet the text is ids, parted by spaces.

    Raises:
        InputError: for an empty text, a character that the model does not know, or something that is no id.
    """
    if not text:
        raise InputError("the prompt is empty: give at least one character, such as a line break")
    if alphabet is None:
        try:
            return [int(word) for word in text.split()]
        except ValueError as error:
            raise InputError(
                f"this model has no alphabet, its prompt is ids such as '3 1 4': {error}"
            ) from error
    places = {character: place for place, character in enumerate(alphabet)}
    if unknown := [character for character in text if character not in places]:
        raise InputError(
            f"the model's vocabulary has no character {unknown[0]!r}; it has: {''.join(alphabet)!r}"
        )
    return [places[character] for character in text]


def decode(ids: Sequence[int], alphabet: str | None) -> str:
    """The text of token ids; those beyond the alphabet, which no text has, are shown as �."""
    if alphabet is None:
        return " ".join(map(str, ids))
    return "".join(alphabet[each] if each < len(alphabet) else "�" for each in ids)
