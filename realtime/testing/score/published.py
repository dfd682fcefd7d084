"""Published figures of tau-voice, to be shown beside ours; docs/listening.md says what is not comparable."""

from __future__ import annotations

COLUMNS = ("L_R", "L_Y", "R_R", "R_Y", "I_A", "S_BC", "S_VT", "S_ND")
"""The two latencies are means in s."""
TAU_VOICE: dict[str, tuple[float, ...]] = {
    "gpt-realtime-1.0": (1.53, 0.41, 0.978, 0.998, 0.123, 0.044, 0.052, 0.130),
    "gpt-realtime-1.5": (1.39, 0.42, 0.999, 1.0, 0.135, 0.019, 0.053, 0.097),
    "gpt-realtime-2": (1.98, 0.62, 0.951, 0.997, 0.208, 0.039, 0.128, 0.156),
    "gpt-realtime-2, minimal reasoning": (1.44, 0.62, 0.998, 0.999, 0.187, 0.019, 0.063, 0.168),
    "gemini-live-2.5-flash": (1.43, 0.86, 0.806, 0.564, 0.206, 0.849, 0.339, 0.446),
    "gemini-3.1-flash-live, high": (3.15, 0.86, 0.847, 0.499, 0.189, 0.941, 0.617, 0.431),
    "gemini-3.1-flash-live, minimal": (1.64, 0.82, 0.970, 0.522, 0.098, 0.897, 0.513, 0.270),
    "xai-realtime": (1.15, 1.15, 0.913, 0.752, 0.843, 0.928, 0.584, 0.212),
    "grok-voice-think-fast-1.0": (1.21, 1.37, 1.0, 0.938, 0.197, 0.662, 0.600, 0.284),
    "grok-voice-think-fast-2.0": (1.71, 0.94, 1.0, 0.970, 0.107, 0.472, 0.329, 0.277),
    "qwen3.5-omni-plus-realtime": (1.70, 0.93, 0.992, 0.902, 0.361, 0.840, 0.364, 0.145),
    "livekit-cascaded": (4.24, 0.87, 0.791, 0.988, 0.644, 0.667, 0.489, 0.577),
    "pine-voice-preview": (2.14, 1.13, 0.927, 0.455, 0.469, 0.971, 0.532, 0.492),
}


def published() -> str:
    """Return the published figures as lines of text."""
    width = max(map(len, TAU_VOICE))
    lines = [" ".join([" " * width, *(f"{column:>6}" for column in COLUMNS)])]
    for agent, figures in TAU_VOICE.items():
        cells = [
            f"{figure:6.2f}" if column.startswith("L_") else f"{figure:6.3f}"
            for column, figure in zip(COLUMNS, figures, strict=True)
        ]
        lines.append(" ".join([f"{agent:<{width}}", *cells]))
    return "\n".join(lines)
