"""`coatcheck expose`: write a file of exposed Celery tasks, or compare one with the application and its workers."""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from celery import Celery
from celery.app.utils import find_app
from environs import Env, EnvValidationError
from kombu.utils.url import maybe_sanitize_url

from coatcheck.settings_file import InvalidSettingsFile, add_settings_of_file, left_as_it_was
from coatcheck.tasks_store import StoreSettings, fault_lines
from coatcheck.workers.addresses import broker_of, places
from coatcheck.workers.external.task_tables import described, signature_of_task, tasks_of
from coatcheck.workers.messages.other_application import Cluster
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.errors import BrokerUnavailable, ToolDefinitionError, WorkersError
from coatcheck.workers.toolkit.expose_file import exposed_in
from coatcheck.workers.toolkit.tool import Catalogue, Exposed, Tool

WRONG: Final = 1
"""The exit code if the file does not match the application or its workers."""

USAGE: Final = 2
"""The exit code if the command could not be executed."""


class Unusable(WorkersError):
    """An argument or setting of the command cannot be used."""


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="coatcheck expose", description="Offer the tasks of a Celery application.")
    parser.add_argument("--app", required=True, help="the application, as for `celery -A`, such as shop.celery:app")
    parser.add_argument("--output", type=Path, help="the file to write, which must not be there yet")
    parser.add_argument("--check", type=Path, help="a file to compare with the application and its running workers")
    options = parser.parse_args()
    try:
        settings, store = _settings()
        app = application(options.app)
        if options.check is not None:
            return _say(_checked(app, options.app, options.check, settings, store))
        text = described(app, options.app)
        if options.output is None:
            print(text, end="")  # noqa: T201 - the output of the command
        else:
            _write(options.output, text)
    except WorkersError as fault:
        print(fault, file=sys.stderr)  # noqa: T201 - the error message of the command
        return USAGE
    return 0


def application(name: str) -> Celery:
    """Return the Celery application of this name, with all its modules imported.

    Raises:
        Unusable: it cannot be imported, or is not a Celery application.
    """
    sys.path.insert(0, str(Path.cwd()))
    try:
        app: Any = find_app(name)
        if isinstance(app, Celery):
            app.loader.import_default_modules()
            app.finalize(auto=True)
    except (Exception, SystemExit) as fault:
        raise Unusable(f"{name} cannot be imported: {type(fault).__name__}: {fault}") from fault
    if not isinstance(app, Celery):
        raise Unusable(f"{name} is no Celery application, but {type(app).__name__}")
    return app


def _settings() -> tuple[WorkerSettings, StoreSettings]:
    env = Env(eager=False)
    try:
        with left_as_it_was(os.environ):
            add_settings_of_file(os.environ)
            store = StoreSettings.read(env)
            settings = WorkerSettings.read(env, store)
        env.seal()
    except InvalidSettingsFile as fault:
        raise Unusable(str(fault)) from fault
    except EnvValidationError as fault:
        raise Unusable(fault_lines(fault)) from fault
    return settings, store


def _write(path: Path, text: str) -> None:
    """Create the file with this text, and remove it again if that fails."""
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError as fault:
        raise Unusable(f"{path} exists, and stays as it is; name another file, or see --check") from fault
    except OSError as fault:
        raise Unusable(f"{path} cannot be written: {fault.strerror or fault}") from fault
    try:
        with file:
            file.write(text)
    except OSError as fault:
        path.unlink()
        raise Unusable(f"{path} cannot be written: {fault.strerror or fault}") from fault


def _say(found: Iterator[tuple[str, bool]]) -> int:
    code = 0
    for sentence, is_certain in found:
        print("wrong" if is_certain else "warn ", sentence)  # noqa: T201 - the output of the command
        code = WRONG if is_certain else code
    if not code:
        print("ok    the file, the application and its workers agree")  # noqa: T201 - as above
    return code


def _checked(
    app: Celery, name: str, path: Path, settings: WorkerSettings, store: StoreSettings
) -> Iterator[tuple[str, bool]]:
    """Yield a sentence for each mismatch, and whether it is certain."""
    tools = list(Catalogue(exposed_in(str(path))))
    for tool in tools:
        yield from _of_signature(app, name, tool)
    if places(theirs := broker_of(app)) != places(settings.expose_broker_url):
        where = maybe_sanitize_url(theirs)
        yield f"The broker of {name} is {where}, and COATCHECK_EXPOSE_BROKER_URL leads elsewhere", True
        return
    cluster = Cluster(settings, store)
    try:
        if not cluster.workers():
            yield f"No worker of {name} answers", True
            return
        works: list[Exposed] = [tool.exposed for tool in tools if tool.exposed is not None]
        yield from cluster.disagreements(works)
    except BrokerUnavailable as fault:
        raise Unusable(f"The broker of {name} does not answer: {fault}") from fault
    finally:
        cluster.close()


def _of_signature(app: Celery, name: str, tool: Tool) -> Iterator[tuple[str, bool]]:
    assert tool.exposed is not None
    task = tasks_of(app).get(tool.exposed.task)
    if task is None:
        yield f"{name} has no task {tool.exposed.task}", True
        return
    try:
        signature, _ = signature_of_task(task)
    except (ToolDefinitionError, TypeError, ValueError) as fault:
        yield str(fault), True
        return
    named = {key: one for key, one in signature.parameters.items() if one.kind is not one.VAR_KEYWORD}
    schema = tool.arguments.schema
    if (more := sorted(schema.get("properties", {}).keys() - named.keys())) and not signature.takes_any:
        yield f"{task.name} does not take {', '.join(more)}, which the file offers", True
    needed = {key for key, one in named.items() if one.default is one.empty}
    if less := sorted(needed - set(schema.get("required", ()))):
        yield f"{task.name} needs {', '.join(less)}, which a call can leave out by the file", True


if __name__ == "__main__":
    sys.exit(main())
