/** Server events for tests: the fields that matter, over the golden frame of the type. */

import { type ServerEvent, type ServerEventOf, isServerEvent } from "@realtime-voice/client";
import golden from "../../fixtures/protocol/server.json" with { type: "json" };

const FRAMES: readonly { type: string }[] = golden;

export function event<Type extends ServerEvent["type"]>(
  type: Type,
  fields: Partial<Omit<ServerEventOf<Type>, "type">> = {},
): ServerEventOf<Type> {
  const made: unknown = { ...FRAMES.find((frame) => frame.type === type), ...fields };
  if (!isServerEvent(made)) throw new Error(`not a ${type}: ${JSON.stringify(made)}`);
  return made as ServerEventOf<Type>;
}
