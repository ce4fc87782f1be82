"""A network in the style of ResNet-50: bottlenecks of convolution, batch norm and ReLU, channels last, with random weights.

    autokernel profile examples/models/resnet_style.py                   (build: channels last; smaller on a CPU)
    autokernel profile examples/models/resnet_style.py:ResNet --input 32x3x224x224
"""
import torch
import torch.nn.functional as F
from torch import nn


def convolution(inputs, outputs, size, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.reduce, self.middle = convolution(inputs, width, 1), convolution(width, width, 3, stride)
        self.expand = convolution(width, outputs, 1)
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else convolution(inputs, outputs, 1, stride)

    def forward(self, x):
        y = F.relu(self.reduce(x), inplace=True)
        y = F.relu(self.middle(y), inplace=True)
        y = self.expand(y)
        y += self.shortcut(x)
        return F.relu(y, inplace=True)


class ResNet(nn.Module):
    def __init__(self, blocks=(3, 4, 6, 3), width=64, classes=1000):
        super().__init__()
        self.stem = convolution(3, width, 7, 2)
        layers, inputs = [], width
        for stage, count in enumerate(blocks):
            for block in range(count):
                layers.append(Bottleneck(inputs, width << stage, 2 if stage > 0 and block == 0 else 1))
                inputs = 4 * (width << stage)
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x), inplace=True), 3, 2, 1)
        return self.head(self.layers(x).mean((2, 3)))


def build(device, dtype):
    small = device == "cpu"
    model = ResNet((1, 1, 1, 1), 16, 10) if small else ResNet()
    images = torch.randn((2, 3, 64, 64) if small else (32, 3, 224, 224), device=device, dtype=dtype)
    layout = torch.channels_last
    return model.to(device, dtype, memory_format=layout), (images.to(memory_format=layout),)
