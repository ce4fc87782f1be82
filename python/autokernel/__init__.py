"""AutoKernel's side of PyTorch. The program `autokernel` brings this package with it and runs it with your Python."""
