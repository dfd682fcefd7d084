"""Calls over WebSockets: a router for any FastAPI application, the product's own application, and its server."""
