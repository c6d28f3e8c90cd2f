"""Taking out of a recording what tells a person or a computer apart: names, homes, serials, UUIDs, addresses.

What is equal before is equal after, so that a mask by UUID still means its device; and what has been replaced once
is replaced by itself, so that a replayed machine is recorded as the same again.
"""

import re

# Users and hosts of these names identify nobody, and the names are words that tools print.
_VENDORS = ("amd", "gpu", "intel", "nvidia")
NOBODY = {*_VENDORS, "admin", "app", "build", "ci", "docker", "host", "localhost", "root", "runner", "ubuntu", "user"}

_HEX = "[0-9a-fA-F]"
_PATTERNS = {
    "uuid": rf"(?<!{_HEX}){_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}(?!{_HEX})",
    "amd": rf"\b(?:GPU-|0x){_HEX}{{16}}\b",
    "mac": rf"(?<![\w:-])(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}(?![\w:-])",
    "pci": rf"(?<![\w:.])(?:{_HEX}{{4}}(?:{_HEX}{{4}})?:)?{_HEX}{{2}}:[01]{_HEX}\.[0-7](?![\w.])",
    "ip6": rf"(?<![\w:.])(?:(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}"
    rf"|(?=[0-9a-fA-F:]*\d)(?:{_HEX}{{1,4}}:)+(?::{_HEX}{{1,4}})+)(?![\w:])",
    "ip4": r"(?<![\w.+-])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.+-])",
    "serial": r"(?i:(?<=serial)[ _\w()]*\"?\s*[:=,]\s*\"?[\w-]{4,})",
    "home": r"(?:/home|/Users)/[^/\s\"':;,]+",
}
_ANY = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()))
_PLACEHOLDERS = {
    "uuid": "00000000-0000-4000-8000-{:012x}",
    "mac": "02:00:00:00:00:{:02x}",
    "ip6": "2001:db8::{:x}",  # RFC 3849
    "ip4": "192.0.2.{}",  # RFC 5737
}


class Scrubber:
    """Replaces in one recording after the other text, in the order of which placeholders are numbered.

    `names` are the words of this computer, such as its host's and its user's, with what stands for them; `known` are
    UUIDs that have a stand-in already, without their "GPU-".
    """

    def __init__(self, names, known):
        self._known = {old.lower(): new for old, new in known.items()}
        self._kept = set(self._known.values())
        self._given = {}
        words = sorted((word for word in names if word and word.lower() not in NOBODY), key=len, reverse=True)
        self._names = {word: names[word] for word in words}
        self._words = re.compile("|".join(rf"(?<![\w-]){re.escape(word)}(?![\w-])" for word in words) or r"(?!)")

    def text(self, text):
        """The text with everything replaced."""
        text = self._words.sub(lambda match: self._names[match[0]], text)
        for old, new in self._known.items():
            text = re.sub(rf"(?<!{_HEX}){re.escape(old)}(?!{_HEX})", new, text, flags=re.IGNORECASE)
        return _ANY.sub(self._replaced, text)

    def value(self, value):
        """A fact with all its texts replaced, those in tables and lists too. Keys are left as they are."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.value(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self.value(each) for each in value)
        return value

    def _replaced(self, match):
        kind, found = match.lastgroup, match[0]
        if kind == "serial":
            label = re.match(r"[ _\w()]*\"?\s*[:=,]\s*\"?", found)[0]
            return found if found[len(label) :].strip("0") == "" else label + "0" * len(found[len(label) :])
        if kind == "home":
            return f"/{found.split('/')[1]}/user"
        if kind == "pci":
            return self._pci(found)
        if kind == "amd":
            start, digits = found[:-16], found[-16:]
            return found if digits in self._kept else f"{start}{self._number('amd', digits.lower()):016x}"
        if found in self._kept or found.startswith(("127.", "0.", "255.")):
            return found
        return _PLACEHOLDERS[kind].format(self._number(kind, found.lower()))

    def _number(self, kind, found):
        """The place, from one, at which this came up among its kind."""
        given = self._given.setdefault(kind, {})
        return given.setdefault(found, len(given) + 1)

    def _pci(self, found):
        """Buses and slots in the order in which they come up: what is on the first bus stays there."""
        domain, bus, slot = ("", *found.split(":")) if found.count(":") == 1 else found.split(":")
        slot, _, function = slot.partition(".")
        domain = f"{'0' * len(domain)}:" if domain else ""
        if bus == "00":
            return f"{domain}00:{self._number('slot', slot.lower()) - 1:02x}.{function}"
        return f"{domain}{self._number('bus', (bus + slot).lower()):02x}:00.{function}"
