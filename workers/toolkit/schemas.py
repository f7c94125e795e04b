"""The arguments and the output of a tool, as JSON Schemas and as checked Python values.

Schemas come from the function's signature, or from `input=` and `output=`: a pydantic model class, a marshmallow Schema
(class or instance), or a JSON Schema, which is not changed. `format` in a JSON Schema is checked for input; a type
checks its own formats.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, cast, get_args, get_origin, get_type_hints

import jsonschema_rs
import marshmallow
import pydantic_core
from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from coatcheck.workers.toolkit import marshmallow_schema
from coatcheck.workers.toolkit.content import Content, ToolResult
from coatcheck.workers.toolkit.errors import (
    InvalidArguments,
    OutputMismatch,
    ToolDefinitionError,
    UnsendableValue,
)
from coatcheck.workers.toolkit.json_schema import (
    MAX_FAULTS,
    InvalidSchema,
    compile_schema,
    faults_of,
    path_of,
)
from coatcheck.workers.toolkit.jsonable import jsonable, serialised

Function = Callable[..., Any]

CONTEXT_NAMES: Final = frozenset({"ctx", "context"})
"""Names that parameters for the Context usually have. Without an annotation, such a parameter is refused as unclear."""

NOTHING: Final = "result: nothing was returned, and the output schema wants a value; is a return missing?"


@dataclass(frozen=True)
class Arguments:
    """The input schema of a tool, and the conversion of arguments."""

    schema: dict[str, Any]
    """JSON Schema 2020-12 of an object, as in `tools/list`."""
    _validator: jsonschema_rs.Validator
    _keywords: Callable[[Mapping[str, Any]], dict[str, Any]]
    runs_authors_code: bool = False
    """Whether loading can call functions of the tool's author, which can take long."""

    def faults(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the faults that `load` would raise, one line each, without values."""
        try:
            self.load(arguments)
        except InvalidArguments as error:
            return error.faults
        return []

    def load(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments of the function, in its own types. Raises InvalidArguments."""
        plain = dict(arguments)
        if faults := faults_of(self._validator, plain, root="arguments"):
            raise InvalidArguments(faults)
        return self._keywords(plain)


@dataclass(frozen=True)
class Output:
    """The output schema of a tool, and the conversion of results."""

    schema: dict[str, Any] | None
    """JSON Schema 2020-12 of `structuredContent`; None when the tool declares none."""
    _validator: jsonschema_rs.Validator | None
    _plain: Callable[[Any], Any]

    def dump(self, value: object) -> Any:
        """Return the value as JSON types. Raises UnsendableValue, or OutputMismatch if the schema does not allow it."""
        try:
            plain = self._plain(value)
            faults = self._faults(plain)
        except UnsendableValue:
            if value is not None:
                raise
            faults = [NOTHING]
        if faults:
            raise OutputMismatch([NOTHING] if value is None else faults)
        return plain

    def _faults(self, plain: object) -> list[str]:
        if self._validator is None:
            return []
        return faults_of(self._validator, plain, root="result", tells_type=True)


@dataclass(frozen=True)
class Signature:
    """A function's parameters without the Context, and its return annotation."""

    parameters: Mapping[str, inspect.Parameter]
    """The parameters by name, each with its resolved annotation."""
    takes_context: bool
    takes_any: bool
    """Whether the function has `**kwargs`."""
    returns: Any


ANY_ARGUMENTS: Final = Signature(
    {"arguments": inspect.Parameter("arguments", inspect.Parameter.VAR_KEYWORD, annotation=Any)},
    takes_context=False,
    takes_any=True,
    returns=Any,
)
"""The signature of a tool without a function."""


def signature_of(function: Function, *, tool: str) -> Signature:
    """Return the function's signature with resolved annotations.

    A first parameter annotated with a class named Context is not part of it.
    Raises ToolDefinitionError for a signature that cannot be called with keyword arguments.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:  # an annotation is an arbitrary expression
        raise ToolDefinitionError(tool, f"an annotation cannot be resolved: {error}") from error
    found = list(inspect.signature(function).parameters.values())
    takes_context = bool(found) and _is_context(hints.get(found[0].name))
    parameters = {
        parameter.name: parameter.replace(annotation=hints.get(parameter.name, Any))
        for parameter in found[takes_context:]
    }
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise ToolDefinitionError(tool, f"{name}: arguments come by name, so that a positional one gets none")
        if _is_context(parameter.annotation):
            raise ToolDefinitionError(tool, f"{name}: the Context is the first parameter")
        if name in CONTEXT_NAMES and name not in hints:
            remedy = f"write `{name}: Context` for the run's own, or annotate it with the type of the argument"
            raise ToolDefinitionError(tool, f"{name}: has no annotation, so it would be an argument; {remedy}")
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return Signature(parameters, takes_context, takes_any, hints.get("return", Any))


def arguments_of(signature: Signature, given: object = None, *, tool: str) -> Arguments:
    """Return the arguments of the tool, from `given` (see above) or the signature. Raises ToolDefinitionError."""
    if given is None:
        return _from_signature(signature, tool)
    if isinstance(given, type) and issubclass(given, BaseModel):
        return _from_model(signature, given, tool)
    if (schema := _marshmallow(given)) is not None:
        return _from_marshmallow(signature, schema, tool)
    if isinstance(given, Mapping):
        return _from_json_schema(signature, given, tool)
    raise ToolDefinitionError(tool, "input= is a JSON Schema, a pydantic model class or a marshmallow Schema")


def output_of(signature: Signature, given: object = None, *, tool: str) -> Output:
    """Return the output of the tool, from `given` (see above) or the return annotation. Raises ToolDefinitionError.

    A type can be any that pydantic knows. There is no schema for `str`, `bytes`, None, Any, content blocks and
    ToolResult, nor for a union with one of the latter two.
    """
    if (schema := _marshmallow(given)) is not None:
        return _dumped_by_marshmallow(schema, tool)
    if isinstance(given, Mapping):
        return _output(given, tool, "output=", jsonable)
    promised = signature.returns if given is None else given
    if given is None and _is_unstructured(promised):
        return Output(None, None, jsonable)
    adapter = _adapter(promised, tool, "what it returns")
    schema_of_type = _json_schema(adapter, "serialization", tool, "what it returns")
    return _output(schema_of_type, tool, "output", _dumper(adapter))


def _is_context(annotation: object) -> bool:
    return isinstance(annotation, type) and annotation.__name__ == "Context"


def _is_unstructured(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        members = get_args(annotation)
        return any(_is_content(member) for member in members) or all(map(_is_unstructured, members))
    return annotation in (str, bytes, None, NoneType, Any, object) or _is_content(annotation)


def _is_content(annotation: Any) -> bool:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return issubclass(annotation, Content | ToolResult)
    return any(_is_content(member) for member in get_args(annotation))


class _UntitledFields(GenerateJsonSchema):
    """Omits titles that repeat a field's name, because they cost tokens of every model that reads the list."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _adapter(annotation: Any, tool: str, what: str) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(annotation)
    except (PydanticUserError, TypeError) as error:
        raise ToolDefinitionError(tool, f"{what} has a type that JSON has no form for: {error}") from error


def _json_schema(adapter: TypeAdapter[Any], mode: Any, tool: str, what: str) -> dict[str, Any]:
    try:
        return adapter.json_schema(mode=mode, schema_generator=_UntitledFields)
    except PydanticUserError as error:
        raise ToolDefinitionError(tool, f"{what} has a type that JSON Schema has no form for: {error}") from error


def _input(
    given: Mapping[str, Any],
    tool: str,
    what: str,
    keywords: Callable[[Mapping[str, Any]], dict[str, Any]],
    *,
    formats: bool = False,
    runs_authors_code: bool = False,
) -> Arguments:
    """Return arguments with a compiled schema, wherever the schema comes from.

    Official clients reject the whole list of tools if one input schema is not an object with described properties.

    Source: schema, Tool.inputSchema.
    """
    schema, validator = _compiled(given, tool, what, formats=formats)
    if schema.get("type") != "object":
        raise ToolDefinitionError(tool, f'{what} has "type": "object" at its root: arguments come by name')
    for name, described in schema.get("properties", {}).items():
        if not isinstance(described, dict):
            raise ToolDefinitionError(
                tool, f"{what}: the property {name} is described by an object; write {{}} for any value"
            )
    return Arguments(schema, validator, keywords, runs_authors_code)


def _output(given: Mapping[str, Any], tool: str, what: str, plain: Callable[[Any], Any]) -> Output:
    """Return an output with a compiled schema, wherever the schema comes from."""
    return Output(*_compiled(given, tool, what), plain)


def _compiled(
    given: Mapping[str, Any], tool: str, what: str, *, formats: bool = False
) -> tuple[dict[str, Any], jsonschema_rs.Validator]:
    """Return the schema as JSON types, and compiled."""
    try:
        schema: dict[str, Any] = jsonable(given, where=what)
        return schema, compile_schema(schema, formats=formats)
    except UnsendableValue as error:
        raise ToolDefinitionError(tool, str(error)) from error
    except InvalidSchema as error:
        raise ToolDefinitionError(tool, f"{what} is not a valid JSON Schema: {error}") from error


def _from_signature(signature: Signature, tool: str) -> Arguments:
    def keywords(**given: Any) -> dict[str, Any]:
        return given

    # pydantic reads a function's parameters. This one has the tool's, without the Context, and returns its arguments.
    parameters = [
        parameter if parameter.kind is parameter.VAR_KEYWORD else parameter.replace(kind=parameter.KEYWORD_ONLY)
        for parameter in signature.parameters.values()
    ]
    cast("Any", keywords).__signature__ = inspect.Signature(parameters)
    keywords.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    adapter = _adapter(keywords, tool, "a parameter")
    schema = _json_schema(adapter, "validation", tool, "a parameter")
    return _input(
        schema,
        tool,
        "input",
        lambda arguments: _validated(adapter, arguments),
        runs_authors_code=_calls_functions(adapter),
    )


def _from_model(signature: Signature, model: type[BaseModel], tool: str) -> Arguments:
    if issubclass(model, RootModel):
        raise ToolDefinitionError(
            tool, "input= is a RootModel, which has no named fields; give a BaseModel with a field of it"
        )
    adapter = _adapter(model, tool, "input=")
    schema = _json_schema(adapter, "validation", tool, "input=")
    if "$ref" in schema:
        # A recursive model, whose schema is a `$ref`: the root of an input schema must have the type object.
        schema = {"type": "object", **schema}
    _check_filled(signature, set(model.model_fields), set(model.model_fields), tool)

    def keywords(arguments: Mapping[str, Any]) -> dict[str, Any]:
        loaded: BaseModel = _validated(adapter, arguments)
        return {name: getattr(loaded, name) for name in model.model_fields} | (loaded.model_extra or {})

    return _input(schema, tool, "input=", keywords, runs_authors_code=_calls_functions(adapter))


def _calls_functions(adapter: TypeAdapter[Any]) -> bool:
    """Return whether validation calls Python functions, such as validators."""
    return "'function-" in str(adapter.core_schema)


def _validated(adapter: TypeAdapter[Any], arguments: Mapping[str, Any]) -> Any:
    try:
        # As JSON, because in strict mode pydantic accepts a date as a string only in JSON.
        return adapter.validate_json(pydantic_core.to_json(arguments))
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)
        faults = [f"{path_of(fault['loc'], root='arguments')}: {fault['msg']}" for fault in found[:MAX_FAULTS]]
        raise InvalidArguments(faults) from error


def _marshmallow(given: object) -> marshmallow.Schema | None:
    if isinstance(given, type) and issubclass(given, marshmallow.Schema):
        return given()
    return given if isinstance(given, marshmallow.Schema) else None


def _from_marshmallow(signature: Signature, loader: marshmallow.Schema, tool: str) -> Arguments:
    if loader.many:
        raise ToolDefinitionError(tool, "input= is a schema of one object, not of many")
    schema = marshmallow_schema.json_schema_of(loader, "load")
    fields = {field.attribute or name: field for name, field in loader.load_fields.items()}
    always = {name for name, field in fields.items() if field.required or field.load_default is not marshmallow.missing}
    _check_filled(signature, set(fields), always, tool)

    def keywords(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            loaded = loader.load(arguments)
        except marshmallow.ValidationError as error:
            raise InvalidArguments(marshmallow_schema.faults_in(error)) from error
        if not isinstance(loaded, dict):
            raise ToolDefinitionError(tool, "input= loads something else than a dict of arguments")
        return loaded

    return _input(schema, tool, "input=", keywords, runs_authors_code=True)


def _from_json_schema(signature: Signature, given: Mapping[str, Any], tool: str) -> Arguments:
    def keywords(arguments: Mapping[str, Any]) -> dict[str, Any]:
        # A schema can allow arguments that the function does not have; these are dropped.
        return {name: value for name, value in arguments.items() if signature.takes_any or name in signature.parameters}

    taken = _input(given, tool, "input=", keywords, formats=True)
    _check_filled(signature, set(taken.schema.get("properties", {})), set(taken.schema.get("required", ())), tool)
    return taken


def _check_filled(signature: Signature, possible: set[str], always: set[str], tool: str) -> None:
    """Raise ToolDefinitionError for an argument without a parameter, or a required parameter without an argument."""
    named = {name for name, parameter in signature.parameters.items() if parameter.kind is not parameter.VAR_KEYWORD}
    if (unknown := sorted(possible - named)) and not signature.takes_any:
        raise ToolDefinitionError(tool, f"input= has what the function does not take: {', '.join(unknown)}")
    needed = {name for name in named if signature.parameters[name].default is inspect.Parameter.empty}
    if empty := sorted(needed - always):
        raise ToolDefinitionError(tool, f"the function needs what input= may leave out: {', '.join(empty)}")


def _dumped_by_marshmallow(dumper: marshmallow.Schema, tool: str) -> Output:
    schema = marshmallow_schema.json_schema_of(dumper, "dump")
    if dumper.many:
        definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
        schema = {"type": "array", "items": schema, **definitions}

    def plain(value: object) -> Any:
        if value is None:
            raise UnsendableValue("result", "it is nothing")  # a schema without required fields dumps it
        try:
            dumped = dumper.dump(value)
        except Exception as error:  # a field that gets a value of another type can raise anything
            why = f"its schema cannot dump what was returned, of type {type(value).__name__}"
            raise UnsendableValue("result", why) from error
        # marshmallow's Decimal field dumps a Decimal, and the schema declares a number.
        return jsonable(dumped, decimal=float)

    return _output(schema, tool, "output=", plain)


def _dumper(adapter: TypeAdapter[Any]) -> Callable[[Any], Any]:
    def plain(value: object) -> Any:
        # The schema reports a value of another type, in words for the author; pydantic would warn.
        return jsonable(serialised(partial(adapter.dump_python, value, by_alias=True, warnings=False), "result"))

    return plain
