"""What this interpreter is and which PyTorch it has, as one line of JSON, for `autokernel doctor`."""
import json
import platform
import sys


def describe():
    found = {"executable": sys.executable, "version": platform.python_version(), "torch": "", "why_not": "", "cuda": "", "gpu": ""}
    try:
        import torch
        found["torch"] = torch.__version__
        found["cuda"] = torch.version.cuda or ""
        if torch.cuda.is_available():
            found["gpu"] = torch.cuda.get_device_name(0)
    except Exception as error:  # noqa: BLE001: a broken PyTorch is an answer too
        found["why_not"] = f"{type(error).__name__}: {error}"
    return found


if __name__ == "__main__":
    print(json.dumps(describe()))
