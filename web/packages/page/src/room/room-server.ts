/** Addresses of a room's endpoints, and its requests over HTTP. */

import { asRecord, asTexts } from "../json.ts";
import { say } from "../texts.ts";
import { asSocket, besidePage } from "../server-info.ts";
import { type OpenRoom, readLobby } from "./lobby.ts";

/** The address of the user's socket in a room. */
export function roomUrl(page: string, room: string, name: string): string {
  const url = besidePage(page, `rooms/${encodeURIComponent(room)}/ws`);
  url.searchParams.set("name", name);
  return asSocket(url).href;
}

/** The address of the room for others: without the user's name, with the token that this page needed. */
export function invitation(page: string, room: string): string {
  const url = besidePage(page, new URL(page).pathname);
  url.searchParams.set("room", room);
  return url.href;
}

/** Why the server refuses a room, in its words; null where it does not. */
export async function fetchRefusal(page: string, room: string): Promise<string | null> {
  const { error } = asRecord(await ask(besidePage(page, `api/rooms/${encodeURIComponent(room)}`)));
  return typeof error === "string" ? error : null;
}

/** The names of the agents that can be added; none where the server does not answer. */
export async function fetchAgents(page: string): Promise<readonly string[]> {
  return readAgents(await ask(besidePage(page, "api/rooms")));
}

export function readAgents(value: unknown): readonly string[] {
  return asTexts(asRecord(value)["agent_templates"]);
}

/** The rooms that can be entered; null where the server does not answer. */
export async function fetchLobby(page: string): Promise<readonly OpenRoom[] | null> {
  const told = await ask(besidePage(page, "api/rooms"));
  return told === null ? null : readLobby(told);
}

/** Adds an agent. Returns null, or the reason of a failure. */
export async function addAgent(page: string, room: string, template: string): Promise<string | null> {
  try {
    const response = await fetch(besidePage(page, `api/rooms/${encodeURIComponent(room)}/agents`), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ template }),
    });
    if (response.ok) return null;
    const { error } = asRecord(await response.json().catch(() => null));
    return typeof error === "string" ? error : say("problem.status", { status: response.status });
  } catch {
    return say("problem.away.what");
  }
}

/** The server's answer, an error included; null where it is away. */
async function ask(url: URL): Promise<unknown> {
  try {
    return await (await fetch(url, { cache: "no-store" })).json();
  } catch {
    return null;
  }
}
