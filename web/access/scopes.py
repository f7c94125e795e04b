"""Check the scopes that methods, tools and tasks need."""

from collections.abc import Mapping

from coatcheck.web.auth.challenge import Challenger
from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.caller import Caller
from coatcheck.workers.toolkit.tool import Catalogue, Tool

NO_SCOPES: frozenset[str] = frozenset()


class Scopes:
    """Checks callers' scopes against those of methods and tools.

    Source: basic/authorization, "Scope Challenge Handling".
    """

    def __init__(self, catalogue: Catalogue, of_methods: Mapping[str, frozenset[str]], challenger: Challenger) -> None:
        self._catalogue = catalogue
        self._of_methods = of_methods
        self._challenger = challenger

    def check(self, call: Call) -> None:
        """Check the scopes of the method, and of the tool that it names.

        Raises:
            InsufficientScope: it names every scope of the request.
        """
        name = call.request.params.get("name")
        is_call = call.request.method == "tools/call" and isinstance(name, str)
        self._check(call, self._of_tool(str(name)) if is_call else NO_SCOPES)

    def check_task(self, call: Call, tool: str) -> None:
        """Check the scopes of the method and of the task's tool: without the right to call it, its tasks are hidden
        too.

        Raises:
            InsufficientScope: as above.
        """
        self._check(call, self._of_tool(tool))

    def check_as(self, call: Call, method: str, scopes: frozenset[str] = NO_SCOPES) -> None:
        """Check the scopes of a method for a tool that does the same, plus `scopes`.

        Raises:
            InsufficientScope: as above.
        """
        self._check(call, self._of_methods.get(method, NO_SCOPES) | scopes)

    def may_use(self, caller: Caller, tool: Tool) -> bool:
        """Tell whether the caller can use the tool."""
        return not caller.lacks(frozenset(tool.scopes))

    def may_use_all(self, caller: Caller) -> bool:
        """Tell whether the caller can use every tool."""
        return all(self.may_use(caller, tool) for tool in self._catalogue)

    def _check(self, call: Call, of_tool: frozenset[str]) -> None:
        needed = self._of_methods.get(call.request.method, NO_SCOPES) | of_tool
        if call.caller.lacks(needed):
            self._challenger.insufficient(needed)

    def _of_tool(self, name: str) -> frozenset[str]:
        tool = self._catalogue.get(name)
        return frozenset(tool.scopes) if tool else NO_SCOPES


def all_scopes(catalogue: Catalogue, of_methods: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Return the scopes of all methods and tools, sorted."""
    of_tools = (tool.scopes for tool in catalogue)
    return tuple(sorted({scope for scopes in (*of_tools, *of_methods.values()) for scope in scopes}))
