/** The list of rooms in the lobby, each with a button to join. */

import { make, setText, setTextOrHide } from "../view/elements.ts";
import { KeyedList, type Row } from "../view/keyed-list.ts";
import { say } from "../texts.ts";
import type { OpenRoom } from "./lobby.ts";
import { agentsWords, insideWords } from "./words.ts";

export class LobbyView {
  readonly #box: HTMLElement;
  readonly #rows: KeyedList<OpenRoom>;

  /** `box` holds `list`; it is hidden while there are no rooms. */
  constructor(box: HTMLElement, list: HTMLElement, onJoin: (room: string) => void) {
    this.#box = box;
    this.#rows = new KeyedList<OpenRoom>(
      list,
      ({ id }) => id,
      ({ id }) => makeRow(id, onJoin),
    );
  }

  update(rooms: readonly OpenRoom[]): void {
    this.#rows.update(rooms);
    this.#box.hidden = rooms.length === 0;
  }
}

function makeRow(id: string, onJoin: (room: string) => void): Row<OpenRoom> {
  const root = make("li", "open-room");
  const about = make("div", "");
  const name = make("h3", "room-name", id);
  const who = make("p", "inside");
  const agents = make("p", "agents");
  about.append(name, who, agents);
  const join = make("button", "", say("room.join"));
  join.type = "button";
  join.setAttribute("aria-label", say("room.joinNamed", { room: id }));
  join.addEventListener("click", () => onJoin(id));
  root.append(about, join);
  return {
    root,
    update(room) {
      root.dataset["busy"] = String(room.count > 0);
      setText(who, insideWords(room));
      setTextOrHide(agents, agentsWords(room));
    },
  };
}
