/** Where a room's doors are, seen from the page, and what can be asked of it by http. */

import { besidePage } from "../server-info.ts";

export interface RoomInfo {
  /** Names of the agents that can be asked in. */
  readonly templates: readonly string[];
  /** By participant: who is muted, as far as the server knows. */
  readonly muted: ReadonlySet<string>;
}

/** The address of our socket in a room. */
export function seatUrl(page: string, room: string, name: string): string {
  const url = besidePage(page, `rooms/${encodeURIComponent(room)}/ws`);
  url.searchParams.set("name", name);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

/** The address of the room for others: without our name, with the token that this page needed. */
export function invitation(page: string, room: string): string {
  const url = besidePage(page, new URL(page).pathname);
  url.searchParams.set("room", room);
  return url.href;
}

/** What the server says of a room; null where it has none of that name, or does not say. */
export async function fetchRoom(page: string, room: string): Promise<RoomInfo | null> {
  try {
    const response = await fetch(besidePage(page, `api/rooms/${encodeURIComponent(room)}`), { cache: "no-store" });
    return response.ok ? readRoom(await response.json()) : null;
  } catch {
    return null;
  }
}

/** Reads the server's answer; what cannot be understood is left out. */
export function readRoom(value: unknown): RoomInfo {
  const { templates, participants } = asRecord(value);
  const muted = asList(participants)
    .map(asRecord)
    .filter(({ muted: isMuted }) => isMuted === true)
    .map(({ id }) => id);
  return {
    templates: asList(templates).filter((name) => typeof name === "string"),
    muted: new Set(muted.filter((id) => typeof id === "string")),
  };
}

/** Asks an agent in. Returns null, or why it could not come. */
export async function addAgent(page: string, room: string, template: string): Promise<string | null> {
  try {
    const response = await fetch(besidePage(page, `api/rooms/${encodeURIComponent(room)}/agents`), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ template }),
    });
    if (response.ok) return null;
    const { error } = asRecord(await response.json().catch(() => null));
    return typeof error === "string" ? error : `The server answered with ${response.status}.`;
  } catch {
    return "The server cannot be reached.";
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
