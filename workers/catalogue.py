"""The tools of a deployment: those in its modules, and those in its file of exposed Celery tasks."""

from workers.addresses import unpickled_by
from workers.errors import UnsafeResults
from workers.exposed.file import exposed_in
from workers.settings import WorkerSettings
from workers.tool import Catalogue


def load_catalogue(settings: WorkerSettings) -> Catalogue:
    """Every tool that the settings name.

    Raises:
        ToolModuleError, ToolFileError, ToolDefinitionError: a tool cannot be offered as it is.
        UnsafeResults: results of exposed tasks would be unpickled here.
    """
    catalogue = Catalogue.load(settings.tools, exposed_in(settings.expose_file) if settings.expose_file else ())
    if any(tool.exposed for tool in catalogue) and (backend := unpickled_by(settings.expose_result_backend)):
        raise UnsafeResults(backend)
    return catalogue
