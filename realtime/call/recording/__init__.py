"""The recording of a call as FLAC files; client and server must both enable it."""

from realtime.call.recording.recorder import Recorded, Recorder, RecordingError

__all__ = ["Recorded", "Recorder", "RecordingError"]
