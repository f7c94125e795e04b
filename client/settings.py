"""Which server is meant, and with which token: from the command line, the environment and the profiles.

| variable | means |
| --- | --- |
| `COATCHECK_URL` | the server |
| `COATCHECK_TOKEN` | the token for that server |
| `COATCHECK_PROFILE` | the profile that names both |
| `COATCHECK_LEDGER` | the file with the tickets |
"""

import os
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from platformdirs import user_config_path, user_data_path

from coatcheck.client.errors import InvalidSettings
from coatcheck.client.running import running_here
from coatcheck.client.tokens import Token, checked_token, fault_of

DEFAULT_URL: Final = "http://127.0.0.1:8000/mcp"
"""Where `make run` serves, unless it was told another port."""

TOKEN_COMMAND_S: Final = 60
"""How long a token command may take."""

_KEYS: Final = frozenset({"url", "token", "token_command", "keep_arguments"})


@dataclass(frozen=True, slots=True)
class Profile:
    """A server by a name of one's own."""

    url: str
    token: Token | None = None
    keep_arguments: bool = False
    """The arguments of a call are stored until its answer has come, so that `resume` can repeat it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The chosen server, and what is known of others."""

    chosen: Profile
    ledger: Path
    profiles: Mapping[str, Profile]

    def profile_for(self, server: str) -> Profile:
        """What this server is reached with. A token goes to the server that it was given for, and to no other."""
        for profile in (self.chosen, *self.profiles.values()):
            if profile.url == server:
                return profile
        return Profile(server)


def ledger_path() -> Path:
    """`COATCHECK_LEDGER`, or the file in the user's data folder."""
    named = os.environ.get("COATCHECK_LEDGER")
    return Path(named) if named else user_data_path("coatcheck") / "tickets.db"


def profiles_path() -> Path:
    """The file in the user's configuration folder."""
    return user_config_path("coatcheck") / "profiles.toml"


def load_settings(url: str | None = None, profile: str | None = None) -> Settings:
    """The settings; what is named outright goes before the environment, and that before the default profile.

    Raises:
        InvalidSettings: naming every fault of the profiles.
    """
    profiles, default = _profiles(profiles_path())
    token = os.environ.get("COATCHECK_TOKEN", "").strip()
    name = profile or (None if url else os.environ.get("COATCHECK_PROFILE"))
    address = url or (None if name else os.environ.get("COATCHECK_URL"))
    if address is None and (name := name or default) is not None:
        if name not in profiles:
            known = f"There are: {', '.join(profiles)}." if profiles else "There are none."
            raise InvalidSettings(f"There is no profile {name} in {profiles_path()}. {known}")
        chosen = profiles[name]
    else:
        address = address or _running_url() or DEFAULT_URL
        chosen = next((known for known in profiles.values() if known.url == address), Profile(address))
    if token and profile is None:
        chosen = Profile(chosen.url, checked_token(token, "COATCHECK_TOKEN"), chosen.keep_arguments)
    return Settings(chosen, ledger_path(), profiles)


def _running_url() -> str:
    """Return the address of the platform that runs from this folder; empty when none does."""
    port = running_here().get("PORT", "")
    return f"http://127.0.0.1:{port}/mcp" if port.isdigit() else ""


def _profiles(path: Path) -> tuple[dict[str, Profile], str | None]:
    try:
        written = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}, None
    except OSError as fault:
        raise InvalidSettings(f"The profiles {path} cannot be read: {fault.strerror}.") from fault
    except UnicodeDecodeError as fault:
        raise InvalidSettings(f"The profiles {path} are not UTF-8 text; save the file in that encoding.") from fault
    except (ValueError, RecursionError) as fault:  # also numbers without end, and lists in lists in lists
        raise InvalidSettings(f"The profiles {path} are not TOML: {fault}.") from fault
    default, tables = written.get("default"), written.get("profiles", {})
    faults = [] if default is None or isinstance(default, str) else ["default is the name of a profile"]
    if not isinstance(tables, dict):
        faults, tables = [*faults, "profiles is a table of profiles"], {}
    for name, table in tables.items():
        faults += [f"profiles.{name}{fault}" for fault in _faults_of(table)]
    if faults:
        raise InvalidSettings(f"The profiles {path} cannot be used: {'; '.join(faults)}.")
    return {name: _profile(table) for name, table in tables.items()}, default


def _faults_of(table: object) -> list[str]:
    if not isinstance(table, dict):
        return [" is a table"]
    faults = [f".{key} is not known" for key in sorted(table.keys() - _KEYS)]
    if not isinstance(table.get("url"), str):
        faults.append(".url is the address of a server")
    if not isinstance(table.get("token", ""), str):
        faults.append(".token is a string")
    elif "token" in table and (fault := fault_of(table["token"].strip())):
        faults.append(f".token {fault}")
    if not isinstance(table.get("keep_arguments", False), bool):
        faults.append(".keep_arguments is true or false")
    command = table.get("token_command", ["-"])
    if not isinstance(command, list) or not command or not all(isinstance(part, str) for part in command):
        faults.append(".token_command is a list of strings")
    if "token" in table and "token_command" in table:
        faults.append(" has a token and a token_command")
    return faults


def _profile(table: Mapping[str, Any]) -> Profile:
    token: Token | None = table["token"].strip() if "token" in table else None
    if "token_command" in table:
        token = partial(_token_of, table["token_command"])
    return Profile(table["url"], token, table.get("keep_arguments", False))


def _token_of(command: Sequence[str]) -> str:
    """What the command printed. Raises InvalidSettings when it failed."""
    name = f"The token command {command[0]}"
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,  # what comes there is for us: arguments, or the messages of a host
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TOKEN_COMMAND_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        # Not from it: its words hold the whole command, and with that whatever secret stands there.
        raise InvalidSettings(f"{name} took longer than {TOKEN_COMMAND_S} s.") from None
    except (OSError, ValueError) as fault:
        raise InvalidSettings(f"{name} did not run: {getattr(fault, 'strerror', None) or fault}.") from fault
    token = done.stdout.strip()
    if done.returncode != 0:
        said = done.stderr.strip() or "it said nothing"
        raise InvalidSettings(f"{name} failed ({done.returncode}): {said.replace(token, '…') if token else said}.")
    if not token:
        raise InvalidSettings(f"{name} printed no token.")
    return checked_token(token, f"The token that {command[0]} printed")
