"""From what the user names to a model with its inputs.

  model.py              a function build(device, dtype) of the file
  model.py:make         a function that returns (module, args, kwargs); it gets `device` and `dtype` where it has such parameters
  model.py:Class        a module class, with --arg NAME=VALUE for its constructor
  --module M --factory F [--config C --config-arg NAME=VALUE] [--pretrained NAME]    a class or function of an installed package
"""
import importlib
import importlib.util
import inspect
import json
import pathlib
import sys
from typing import Any, Callable, NamedTuple

from autokernel.errors import Refusal
from autokernel.inputs import Inputs, parse_all


class Model(NamedTuple):
    call: Callable
    args: tuple
    kwargs: dict
    notes: list  # of lines for the user


def value_of(text):
    """A JSON value, true, None and the like, else the text itself."""
    words = {"True": True, "False": False, "None": None}
    try:
        return words[text] if text in words else json.loads(text)
    except ValueError:
        return text


def named_values(texts, option):
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise Refusal(f"{option} {text}: expected NAME=VALUE")
        values[name] = value_of(value)
    return values


def load_file(path):
    spec = importlib.util.spec_from_file_location("autokernel_model", path)
    if spec is None:
        raise Refusal(f"{path}: no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    return module


def attribute(holder, dotted, where):
    for name in dotted.split("."):
        if not hasattr(holder, name):
            own = getattr(holder, "__name__", "")
            near = [each for each, value in getattr(holder, "__dict__", {}).items()
                    if callable(value) and not each.startswith("_") and getattr(value, "__module__", "") == own]
            there = f"; there are {', '.join(sorted(near)[:12])}" if near else ""
            raise Refusal(f"{where}: it has no `{name}`{there}")
        holder = getattr(holder, name)
    return holder


def call_checked(function, arguments, where, option):
    """Calls a constructor or factory; arguments that are missing or unknown are refused before."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # builtins
        return function(**arguments)
    takes_any = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())
    unknown = [name for name in arguments if name not in signature.parameters and not takes_any]
    if unknown:
        raise Refusal(f"{where}{signature}: no parameter `{unknown[0]}` ({option})")
    missing = [name for name, each in signature.parameters.items() if each.default is each.empty
               and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) and name not in arguments]
    if missing:
        given = " ".join(f"{option} {name}=VALUE" for name in missing)
        raise Refusal(f"{where}{signature} needs {', '.join(missing)}: give {given}, or write a function in a file that returns "
                      "(module, args, kwargs) and name that: model.py:make")
    return function(**arguments)


def from_package(options):
    """--module, --factory, --config, --pretrained."""
    where = f"--module {options.module} --factory {options.factory}"
    try:
        package = importlib.import_module(options.module)
    except ModuleNotFoundError as error:
        raise Refusal(f"--module {options.module}: {sys.executable} has no module `{error.name}`: install it there, or name "
                      "another interpreter with --python") from error
    factory = attribute(package, options.factory, f"--module {options.module}")
    arguments = named_values(options.arg, "--arg")
    if options.pretrained:
        if not hasattr(factory, "from_pretrained"):
            raise Refusal(f"{where}: it has no from_pretrained, which --pretrained calls: name the class alone, e.g. "
                          "--factory AutoModelForCausalLM")
        return factory.from_pretrained(options.pretrained, **arguments)
    if options.config:
        config = call_checked(attribute(package, options.config, f"--module {options.module}"),
                              named_values(options.config_arg, "--config-arg"), options.config, "--config-arg")
        return factory(config, **arguments)
    if options.factory.endswith(".from_config"):
        raise Refusal(f"{where}: it takes a configuration: --config GPT2Config --config-arg n_layer=4, or weights that are "
                      "published: --factory " + options.factory.removesuffix(".from_config") + " --pretrained NAME")
    return call_checked(factory, arguments, options.factory, "--arg")


def from_file(options, torch, told):
    """What the file's function or class makes; `told` is {"device": ..., "dtype": ...} and loses what it was told."""
    path, name = file_of(options)
    module = load_file(path)
    if not name and not callable(getattr(module, "build", None)):
        raise Refusal(f"{path}: it defines no build(device, dtype) that returns (model, inputs); a class or another function is "
                      f"named so: {path}:NAME")
    name = name or "build"
    made = attribute(module, name, str(path))
    if isinstance(made, torch.nn.Module):
        return made
    if not callable(made):
        raise Refusal(f"{options.model}: neither a class nor a function")
    arguments = named_values(options.arg, "--arg")
    if not inspect.isclass(made):
        parameters = inspect.signature(made).parameters
        arguments.update({key: told.pop(key) for key in list(told) if key in parameters and key not in arguments})
    elif not issubclass(made, torch.nn.Module):
        raise Refusal(f"{options.model}: a class, but no torch.nn.Module")
    return call_checked(made, arguments, options.model, "--arg")


def unpack(made, where):
    """(callable, args, kwargs) of what a function returned; args are None where it returned no inputs."""
    if not isinstance(made, tuple):
        made = (made, None)
    call, args, kwargs = (*made, {})[:3] if len(made) in (2, 3) else (None, None, None)
    if not callable(call) or not isinstance(kwargs, dict):
        raise Refusal(f"{where}: it must return (model, inputs) or (model, inputs, keywords)")
    return call, args if isinstance(args, (tuple, type(None))) else tuple(args) if isinstance(args, list) else (args,), kwargs


def moved(value, torch, told):
    """Tensors on the device and, where they are floats, in the dtype that the function was not told."""
    if isinstance(value, torch.Tensor):
        target = dict(told) if value.is_floating_point() else {key: each for key, each in told.items() if key == "device"}
        return value.to(**target) if target else value
    if type(value) in (tuple, list):
        return type(value)(moved(item, torch, told) for item in value)
    if type(value) is dict:
        return {key: moved(item, torch, told) for key, item in value.items()}
    return value


def forward_of(call):
    return inspect.signature(call.forward if hasattr(call, "forward") else call)


def check(options):
    """Refuses what is wrong whatever the model is, before PyTorch is loaded (seconds)."""
    if bool(options.model) == bool(options.module):
        raise Refusal("name one model: MODEL.py, MODEL.py:NAME, or --module PACKAGE --factory NAME")
    if options.module and not options.factory:
        raise Refusal(f"--module {options.module}: --factory says what makes the model there, e.g. "
                      "--factory AutoModelForCausalLM.from_config --config GPT2Config")
    if not options.module and (options.factory or options.config or options.pretrained):
        raise Refusal("--factory, --config and --pretrained belong to --module PACKAGE")
    if options.pretrained and options.config:
        raise Refusal("--pretrained brings its own configuration: leave --config out")
    if options.config_arg and not options.config:
        raise Refusal("--config-arg belongs to --config CLASS")
    if options.model and not file_of(options)[0].is_file():
        raise Refusal(f"{file_of(options)[0]}: no such file (a Python file that holds the model was expected)")
    parse_all(options.input)
    for option, texts in (("--arg", options.arg), ("--config-arg", options.config_arg), ("--keyword", options.keyword)):
        named_values(texts, option)


def file_of(options):
    """(path, name or "") of MODEL.py:NAME."""
    text, _, name = options.model.partition(".py:")
    return pathlib.Path(text + ".py" if name else options.model), name


def load(options, torch, device, dtype):
    """The model of the command line, on the device, with inputs that its forward accepts. The options are checked."""
    specs = parse_all(options.input)
    told: dict[str, Any] = {"device": device, "dtype": dtype}
    where = options.model or f"{options.module}.{options.factory}"
    call, args, kwargs = unpack(from_package(options) if options.module else from_file(options, torch, told), where)
    if isinstance(call, torch.nn.Module):
        call.train(options.train)
        if told:
            call.to(**told)
    args, kwargs = moved(args, torch, told), moved(kwargs, torch, told)
    keywords = named_values(options.keyword, "--keyword")
    if args is None and not specs:
        raise Refusal(f"{where}: its inputs are not known: forward{forward_of(call)}. Say them in order, e.g. --input 1x1024:int64, "
                      "those with a name as --input NAME=1x1024, what is no tensor as --keyword NAME=VALUE")
    notes: list[str] = []
    if specs:  # they replace those that the function returned
        (args, kwargs), notes = Inputs(torch, specs, device, dtype).draw(call, keywords)
    kwargs = {**kwargs, **keywords}
    try:
        forward_of(call).bind(*args, **kwargs)
    except TypeError as error:
        raise Refusal(f"{where}: forward{forward_of(call)}: {error} (--input, --keyword)") from error
    except ValueError:  # a builtin without a signature
        pass
    return Model(call, args, kwargs, notes)
