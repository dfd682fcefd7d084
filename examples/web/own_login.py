"""An application with its own login: its users talk, and no page sees the key of the voice server.

realtime serve --token secret --allow-embed http://127.0.0.1:8080
REALTIME_TOKEN=secret uvicorn own_login:app --app-dir examples/web --port 8080
"""

import os
import secrets
from html import escape

import httpx
from fastapi import Cookie, FastAPI, HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse

VOICE = os.environ.get("REALTIME_URL", "http://127.0.0.1:8000")
KEY = {"authorization": f"Bearer {os.environ.get('REALTIME_TOKEN', '')}"}
PAGE = f"""<!doctype html><title>Shop</title><h1>Hello, USER</h1>
<script src="{VOICE}/client/realtime.script.js"></script>
<realtime-voice server="{VOICE}" token-url="/voice-token" captions></realtime-voice>"""
app = FastAPI()
sessions: dict[str, str] = {}


@app.get("/login")
async def login(user: str) -> RedirectResponse:
    response = RedirectResponse("/")
    session = secrets.token_urlsafe()
    sessions[session] = user  # after you have checked the password
    response.set_cookie("session", session, httponly=True, samesite="strict")
    return response


@app.get("/")
async def page(session: str = Cookie("")) -> HTMLResponse:
    return HTMLResponse(PAGE.replace("USER", escape(sessions.get(session, "stranger"))))


@app.post("/voice-token")
async def voice_token(session: str = Cookie("")) -> dict[str, object]:
    if session not in sessions:
        raise HTTPException(401, "log in first")
    async with httpx.AsyncClient() as client:
        asked = {"user_id": sessions[session], "expires_in_s": 60}
        answer = await client.post(f"{VOICE}/api/client_tokens", json=asked, headers=KEY)
    return {"token": answer.raise_for_status().json()["token"]}
