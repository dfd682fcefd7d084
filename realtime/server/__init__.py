"""Calls over WebSockets: a router for any FastAPI application, an application of our own, and a server to run it."""
