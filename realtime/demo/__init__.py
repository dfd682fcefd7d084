"""The room that the demo page opens."""
