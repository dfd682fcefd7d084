"""What a test asserts about a call, and the reading of a call that it rests on."""
