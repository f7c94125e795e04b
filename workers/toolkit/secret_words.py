"""Tell from the words of an input request whether it asks for a secret. Pure.

Whole words are compared, without accents and case, so that `compass` and `pinned` do not match.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

_UNMISTAKABLE: Final = (
    "password", "passwords", "passwd", "passphrase", "passcode", "pwd", "passkey", "api key", "apikey", "access key",
    "private key", "secret key", "encryption key", "api token", "access token", "auth token", "bearer token",
    "refresh token", "client secret", "credit card", "debit card", "card number", "security code", "cvv", "cvc",
    "pin code", "pin number", "seed phrase", "recovery phrase", "recovery code", "backup code", "one time code",
    "one time password", "verification code", "otp", "totp", "ssn", "social security number",
    "passwort", "passworter", "kennwort", "kennworter", "zugangscode", "geheimzahl", "kreditkartennummer",
    "privater schlussel", "einmalcode", "einmalpasswort", "api schlussel",
    "mot de passe", "mots de passe", "code secret", "cle privee", "cle api", "numero de carte", "code a usage unique",
    "contrasena", "contrasenas", "clave secreta", "clave privada", "clave api", "codigo de un solo uso",
    "numero de tarjeta",
)  # fmt: skip
"""Words that mean a secret in any position."""

_IN_NAMES: Final = ("pw", "secret value", "token value")
"""Words that mean a secret in the short name or title of a field."""

_AT_THE_END: Final = frozenset(
    {"secret", "secrets", "token", "credential", "credentials", "pin", "geheimnis", "jeton", "secreto"}
)
"""Words that mean a secret at the end of a phrase: `access_token`, not `token_budget`."""

_ABOUT_A_SECRET = frozenset(
    {"age", "brand", "budget", "count", "days", "expiry", "id", "length", "limit", "name", "policy", "type", "usage"}
)
"""A phrase that ends in one of these describes a secret, and is not one."""

_ASIDES = frozenset({"at", "by", "for", "from", "here", "in", "of", "on", "please", "to", "von", "fur", "de", "para"})
"""Words that begin an addition to the phrase, which is not what is asked for."""

LOOKED_AT: Final = 10_000
"""Characters at the beginning and at the end of a text that are examined. A caller can have written most of a message,
and a megabyte would block the process for seconds."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SENTENCE_END = re.compile(r"[.!?;:\n]+(?:\s|\Z)")

_SECRET: Final = "(?:" + "|".join(sorted(_UNMISTAKABLE, key=len, reverse=True)) + ")"
_SECRET_OR_YOURS: Final = rf"(?:{_SECRET}|(?:your|ihre?n?|votre|su|tu) (?:pin|token|secret|api key))"
_NOT_ABOUT: Final = rf"(?! (?:{'|'.join(sorted(_ABOUT_A_SECRET))}|reset|rules|manager|protected)\b)"
_NAMED = re.compile(rf"\b{_SECRET_OR_YOURS}\b{_NOT_ABOUT}")
_REFUSED = re.compile(r"\b(?:no|not|never|don t|without|whose|nicht|kein|keine|nie|jamais|pas|nunca|sin)\b")

_ASK: Final = (
    "(?:enter|type|give|provide|supply|tell|send|share|input|paste|submit|confirm|need|what is|what s"
    "|gib|geben|nenne|nennen|entrez|saisissez|donnez|tapez|indiquez|introduzca|introduce|ingrese|ingresa|escriba|escribe)"
)
_BETWEEN: Final = r"(?: (?!to\b|if\b|whether|that\b|when\b|reset|change)\w+){0,5}"
_REQUESTED = re.compile(
    rf"\b{_ASK}{_BETWEEN} {_SECRET_OR_YOURS}\b{_NOT_ABOUT}"
    rf"|\b{_SECRET}\b(?: \w+){{0,2}} (?:eingeben|angeben|eintippen|please|bitte|svp)\b"
    rf"|\A(?:(?:the|your|new|current|old|ihr|das|votre|le|su|la) )*{_SECRET}\Z"
)


def label_sounds_secret(label: str) -> bool:
    """Return whether the name or the title of a field asks for a secret."""
    words = _words(label)
    parts = _parts(words)
    if not parts or parts[0][-1] in _ABOUT_A_SECRET or parts[-1][-1] in _ABOUT_A_SECRET:
        return False
    text = f" {' '.join(words)} "
    says_so = any(f" {phrase} " in text for phrase in (*_UNMISTAKABLE, *_IN_NAMES))
    return says_so or any(part[-1] in _AT_THE_END for part in parts)


def description_sounds_secret(description: str) -> bool:
    """Return whether the description of a field asks for a secret, and does not say that none is wanted."""
    return any(_is_named(sentence) for sentence in _sentences(description))


def message_asks_for_secret(message: str) -> bool:
    """Return whether the message asks for a secret explicitly."""
    return any(
        (found := _REQUESTED.search(sentence)) is not None and not _REFUSED.search(sentence, 0, found.start())
        for sentence in _sentences(message)
    )


def _is_named(sentence: str) -> bool:
    found = _NAMED.search(sentence)
    return found is not None and not _REFUSED.search(sentence, 0, found.start())


def _sentences(text: str) -> Iterable[str]:
    if len(text) > 2 * LOOKED_AT:
        text = f"{text[:LOOKED_AT]}\n{text[-LOOKED_AT:]}"
    for sentence in _SENTENCE_END.split(text):
        if words := _words(sentence):
            yield " ".join(words)


def _parts(words: list[str]) -> list[list[str]]:
    """Split the words at the asides."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _ASIDES:
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def _words(text: str) -> list[str]:
    """Return the words of a text or a name, in lower case and without accents."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return [word.lower() for word in _WORD.findall(plain)]
