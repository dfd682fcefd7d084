"""Audio as data: pcm16, resampling, mixing, voice activity, endpointing, playback clocks, and files.

Everything here is a plain function or class without clock, socket or event loop. Unless a docstring says otherwise,
"pcm" means signed 16-bit little-endian mono samples as ``bytes``.
"""
