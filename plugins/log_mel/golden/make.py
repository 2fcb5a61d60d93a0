"""Made by tools/golden.py: torch.stft and Slaney's mel filters, combined as in Whisper's feature extractor."""

import math

import torch
from golden import random, write


def hertz(mel):
    return torch.where(mel < 15, mel * 200 / 3, 1000 * torch.exp((mel - 15) * math.log(6.4) / 27))


def mel_filters(mels, bins, sample_rate):
    """As librosa.filters.mel: (mels, bins)."""
    frequencies = torch.linspace(0, sample_rate / 2, bins, dtype=torch.float64)
    highest = 15 + math.log(sample_rate / 2000) * 27 / math.log(6.4)
    edges = hertz(torch.linspace(0, highest, mels + 2, dtype=torch.float64))
    slopes = edges[:, None] - frequencies
    rising, falling = -slopes[:-2] / edges.diff()[:-1, None], slopes[2:] / edges.diff()[1:, None]
    return torch.minimum(rising, falling).clamp(min=0) * (2 / (edges[2:] - edges[:-2]))[:, None]


def log_mel(samples, mels=80, n_fft=400, hop=160, sample_rate=16000):
    window = torch.hann_window(n_fft, dtype=torch.float64)
    powers = torch.stft(samples, n_fft, hop, window=window, return_complex=True)[..., :-1].abs() ** 2
    logs = (mel_filters(mels, n_fft // 2 + 1, sample_rate) @ powers).clamp(min=1e-10).log10()
    logs = torch.maximum(logs, logs.amax((1, 2), keepdim=True) - 8)
    return ((logs + 4) / 4).transpose(1, 2)


time = torch.arange(1600, dtype=torch.float64) / 16000
tones = torch.stack([torch.sin(2 * math.pi * 440 * time) * torch.exp(-30 * time), 0.1 * torch.sin(9000 * time ** 2)])
samples = tones.float().double()  # most values lie below the greatest less 8
write(__file__, "tones", {}, {"samples": samples}, {"y": log_mel(samples)})
noise = random(2, 1600, scale=0.1)
write(__file__, "mels_128", {"mels": 128}, {"samples": noise}, {"y": log_mel(noise, 128)})
write(__file__, "other_frames", {"mels": 9, "n_fft": 64, "hop": 20, "sample_rate": 8000}, {"samples": noise[:, :400]},
      {"y": log_mel(noise[:, :400], 9, 64, 20, 8000)})
write(__file__, "silence", {}, {"samples": 0 * noise}, {"y": log_mel(0 * noise)})
