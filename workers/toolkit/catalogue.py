"""Load the tools of a deployment: those of its modules, and its exposed Celery tasks."""

from coatcheck.workers.addresses import unpickled_by
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.errors import UnsafeResults
from coatcheck.workers.toolkit.expose_file import exposed_in
from coatcheck.workers.toolkit.tool import Catalogue


def load_catalogue(settings: WorkerSettings) -> Catalogue:
    """Load every tool that the settings name.

    Raises:
        ToolModuleError, ToolFileError, ToolDefinitionError: a tool is not valid.
        UnsafeResults: this process would unpickle results of exposed tasks.
    """
    catalogue = Catalogue.load(settings.tools, exposed_in(settings.expose_file) if settings.expose_file else ())
    if any(tool.exposed for tool in catalogue) and (backend := unpickled_by(settings.expose_result_backend)):
        raise UnsafeResults(backend)
    return catalogue
