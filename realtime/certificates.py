"""Whom this process trusts over TLS: one context for all clients of HTTP.

A file of its own, as tools and models both need it and neither imports the other.
"""

from __future__ import annotations

import functools
import importlib.util
import ssl


@functools.cache
def trusted_certificates() -> ssl.SSLContext:
    """Return the context of the installed HTTP library.

    To read it takes 45 ms; each client of an SDK would do that anew, on the event loop of all calls.
    """
    # The libraries know where a system without OpenSSL's own paths keeps its certificates. SDKs use one or the other.
    if importlib.util.find_spec("httpx2"):
        import httpx2

        return httpx2.create_ssl_context()
    if importlib.util.find_spec("httpx"):
        import httpx

        return httpx.create_ssl_context()
    return ssl.create_default_context()
