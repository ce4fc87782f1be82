"""A captured graph, run node by node with labels that the trace keeps, so that kernels are tied to places in the model.

A label is a record_function of the name `ak.site:MODULE#NODE`: the path of the module whose call made the node, and the
node's name. Without a graph, calls of modules are labelled: `ak.site:MODULE`.
"""

import math

PREFIX = "ak.site:"
CALLS = ("call_module", "call_function", "call_method")


def module_path(node):
    """Of the innermost module around a node; "" is the model itself."""
    stack = node.meta.get("nn_module_stack") or {}
    for value in reversed(list(stack.values())):
        path = value[0] if isinstance(value, tuple) else value
        return str(path).removeprefix("L['self']").removeprefix(".")
    return str(node.target) if node.op == "call_module" else ""


def target_name(node):
    if node.op == "call_function":
        name = str(node.target)
        return name if name.startswith("aten.") else getattr(node.target, "__name__", name)
    return str(node.target)


def changes_first_input(module, node):
    """aten.relu_, x.add_(y), relu(x, inplace=True), ReLU(inplace=True)"""
    if not node.args or not hasattr(node.args[0], "op"):
        return False
    if node.op == "call_module":
        return bool(getattr(module.get_submodule(node.target), "inplace", False))
    name = target_name(node)
    if name.startswith("aten."):
        name = name.split(".")[1]
    return node.kwargs.get("inplace") is True or (name.endswith("_") and not name.endswith("__"))


def constants(module, node):
    """{"numbers": [...], "texts": [...]} among a node's arguments, where there are any; of a module its texts. The profiler
    records neither a text nor a number that PyTorch wraps as a tensor, such as the eps of a norm written by hand."""
    given = [*node.args, *node.kwargs.values()]
    if node.op == "call_module":
        called = module.get_submodule(node.target)
        given = [value for name in getattr(called, "__constants__", ()) if isinstance(value := getattr(called, name, None), str)]
    numbers = [value for value in given if type(value) in (int, float) and math.isfinite(value)]
    texts = [value for value in given if isinstance(value, str)]
    return {key: value for key, value in (("numbers", numbers), ("texts", texts)) if value}


class Graph:
    def __init__(self, torch, module, inputs, how):
        self.torch, self.module, self.inputs, self.how = torch, module, inputs, how
        self.labels = {node: f"{PREFIX}{module_path(node)}#{node.name}" for node in module.graph.nodes if node.op in CALLS}
        self.values = {}  # node -> layout of its tensor, or None where it is a list of tensors; others have no entry
        placeholders = sum(node.op == "placeholder" for node in module.graph.nodes)
        if placeholders != len(inputs):
            raise ValueError(f"the graph has {placeholders} inputs, the model was given {len(inputs)}")

    def run(self, inputs=None):
        """With labels; returns the model's output."""
        torch, labels = self.torch, self.labels

        class Labelled(torch.fx.Interpreter):
            def run_node(self, node):
                if node not in labels:
                    return super().run_node(node)
                with torch.profiler.record_function(labels[node]):
                    return super().run_node(node)

        return Labelled(self.module).run(*(self.inputs if inputs is None else inputs))

    def observe(self, inputs):
        """Runs once and keeps which nodes hold tensors, and how these lie in memory."""
        torch, values = self.torch, self.values

        class Observer(torch.fx.Interpreter):
            def run_node(self, node):
                value = super().run_node(node)
                if isinstance(value, torch.Tensor):
                    values[node] = layout(value)
                elif isinstance(value, (tuple, list)) and any(isinstance(item, torch.Tensor) for item in value):
                    values[node] = None
                return value

        Observer(self.module).run(*inputs)

    def nodes(self):
        """The nodes that hold tensors, and the output: name, module, target, inputs by name, constants, shape, strides, dtype. A
        node that changes its input in place stands for it from there on."""
        described, current = [], {}
        for node in self.module.graph.nodes:
            if node not in self.values and node.op != "output":
                continue
            inputs = [current.get(each, each).name for each in node.all_input_nodes if each in self.values]
            if node.op in CALLS and changes_first_input(self.module, node):
                source = node.args[0]
                for each in [key for key, value in current.items() if value is current.get(source, source)]:
                    current[each] = node
                current[source] = node
            described.append({"name": node.name, "module": module_path(node), "target": f"{node.op} {target_name(node)}",
                              "inputs": inputs, **constants(self.module, node), **(self.values.get(node) or {})})
        return described


def layout(tensor):
    return {"shape": list(tensor.shape), "strides": list(tensor.stride()), "dtype": str(tensor.dtype).removeprefix("torch.")}


def label_modules(torch, model):
    """Hooks that label each module's call; returns them, to be removed."""
    opened, hooks = [], []

    def enter(path):
        def hook(_module, _inputs):
            opened.append(torch.profiler.record_function(PREFIX + path))
            opened[-1].__enter__()
        return hook

    def leave(_module, _inputs, _output):
        opened.pop().__exit__(None, None, None)

    for path, module in model.named_modules():
        hooks += [module.register_forward_pre_hook(enter(path)), module.register_forward_hook(leave)]
    return hooks
