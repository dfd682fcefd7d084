"""The recording of a call as FLAC files, for calls whose client and server both want it."""

from realtime.call.recording.recorder import Recorded, Recorder, RecordingError

__all__ = ["Recorded", "Recorder", "RecordingError"]
