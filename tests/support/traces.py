"""Traces of torch.profiler made by hand, for tests.

The test puts tests/support on sys.path:  import traces
"""


def trace(*calls):
    """One iteration on a GPU. A call: (ATen op, [dims of each tensor], {place: number or truth} of its other arguments,
    microseconds of its kernel); tensors are contiguous float32."""
    events = []
    for number, (op, dims, others, us) in enumerate(calls, 1):
        arguments = len(dims) + len(others)
        tensors = iter(dims)
        shapes = [[] if place in others else next(tensors) for place in range(arguments)]
        strides = []
        for shape in shapes:
            stride, backwards = 1, []
            for extent in reversed(shape):
                backwards.append(stride)
                stride *= extent
            strides.append(backwards[::-1])
        inputs = {"Input Dims": shapes, "Input Strides": strides,
                  "Input type": ["Scalar" if place in others else "float" for place in range(arguments)],
                  "Concrete Inputs": [str(others[place]) if place in others else "" for place in range(arguments)]}
        for category, name, place, ts, dur, args in (("cpu_op", op, 1, 1000 * number, 20, inputs),
                                                     ("cuda_runtime", "cudaLaunchKernel", 1, 1000 * number + 5, 5,
                                                      {"correlation": number}),
                                                     ("kernel", "kernel", 0, 1000 * number + 30, us, {"correlation": number})):
            events.append({"ph": "X", "cat": category, "name": name, "pid": place, "tid": place, "ts": ts, "dur": dur,
                           "args": args})
    return {"traceEvents": events}
