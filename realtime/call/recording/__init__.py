"""The recording of a call as FLAC files, if its client and the server both enable it."""

from realtime.call.recording.recorder import Recorded, Recorder, RecordingError

__all__ = ["Recorded", "Recorder", "RecordingError"]
