"""A machine as a file: TOML with the facts of one row, written by `record` and replayed by HARDWARE_PROFILE=PATH.

TOML has no null: `false` stands for a package, tool or file that is absent.
"""

import os
import tomllib

from spoofs import profiles

# Facts that hold names of their own, whose entries may be absent.
_TABLES = tuple(fact for fact in profiles.FACTS if getattr(profiles.HardwareProfile, fact) == {})


def load(path) -> profiles.HardwareProfile:
    """The machine that a file describes. Its name is the fact `name`, or the file's own where it states none.

    Raises ProfileError, one line with file, place and mend, for a file that is missing, is no TOML or is no machine.
    """
    try:
        with open(path, "rb") as file:
            facts = tomllib.load(file)
    except FileNotFoundError:
        raise profiles.ProfileError(f"{path}: no such file; `python -m spoofs record` writes one") from None
    except OSError as error:
        raise profiles.ProfileError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise profiles.ProfileError(f"{path}: is no TOML: {error}; mend that line or record the file anew") from None
    name = facts.pop("name", None) or _identifier(os.path.basename(path).removesuffix(".toml"))
    for table in _TABLES:
        if isinstance(facts.get(table), dict):
            facts[table] = {key: None if value is False else value for key, value in facts[table].items()}
    try:
        return profiles.HardwareProfile(name, **{fact: _frozen(value) for fact, value in facts.items()})
    except profiles.ProfileError as error:
        raise profiles.ProfileError(f"{path}: {error}") from None


def _identifier(stem):
    name = "".join(letter if letter.isalnum() else "_" for letter in stem)
    return name if name.isidentifier() else f"_{name}"


def _frozen(value):
    """The value with tuples where TOML has arrays: rows have tuples."""
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return value


def dump(profile) -> str:
    """The TOML of a machine: `load` of it gives an equal one."""
    lines = [f"name = {_toml(profile.name)}"]
    tables = []
    for fact, value in profile.facts().items():
        if fact in _TABLES:
            tables += ["", f"[{fact}]"]
            tables += [f"{_key(key)} = {_toml(each)}" for key, each in value.items()]
        elif fact == "devices":
            for device in value:
                tables += ["", "[[devices]]"]
                tables += [f"{_key(key)} = {_toml(each)}" for key, each in device.items()]
        else:
            lines.append(f"{fact} = {_toml(value)}")
    return "\n".join(lines + tables) + "\n"


def _key(text):
    plain = text.replace("-", "_")
    return text if plain.isascii() and plain and plain.replace("_", "a").isalnum() else _string(text)


def _toml(value):
    if value is None or value is False:
        return "false"
    if value is True:
        return "true"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    return "{" + ", ".join(f"{_key(key)} = {_toml(each)}" for key, each in value.items()) + "}"


def _string(text):
    """A basic string; one of several lines as such, so that the output of a tool stays readable."""
    several = "\n" in text
    escaped = "".join(_ESCAPES.get(letter) or _escape(letter, several) for letter in text)
    return f'"""\n{escaped}"""' if several else f'"{escaped}"'


_ESCAPES = {"\\": "\\\\", '"': '\\"'}


def _escape(letter, several):
    if letter.isprintable() or (letter == "\n" and several):
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"
