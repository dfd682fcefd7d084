/** The screen of one call: its words as they come, and when it is over its sound and its files. */

import { type CallError, type CallInfo, CallReader, type CallShelf, HttpProblem, problemWords, reasonWords } from "./call-reader.ts";
import * as words from "./call-words.ts";
import { type Piece, inOrder } from "./in-order.ts";
import { say } from "./texts.ts";
import { CaseView } from "./view/case-view.ts";
import { makeDeleteQuestion } from "./view/delete-question.ts";
import { byId, drawnOncePerFrame, keepAtEnd, make, setText } from "./view/elements.ts";
import { KeyedList } from "./view/keyed-list.ts";
import { renderMessage } from "./view/message-card.ts";
import type { NoticesView } from "./view/notices-view.ts";
import { PlanView } from "./view/plan-view.ts";
import { SoundView } from "./view/sound-view.ts";

export type CallScreenState = "connecting" | "live" | "waiting" | "ended" | "failed";

export class CallScreen {
  readonly #shelf: CallShelf;
  readonly #id: string;
  readonly #notices: NoticesView;
  readonly #about = byId("about", HTMLElement);
  readonly #empty = byId("empty", HTMLElement);
  readonly #box = byId("bubbles", HTMLElement);
  readonly #plan = byId("plan", HTMLElement);
  readonly #plans = new PlanView(this.#plan);
  readonly #files = byId("files", HTMLElement);
  readonly #errorBox = byId("errors", HTMLDetailsElement);
  readonly #errorCount = byId("errors-count", HTMLElement);
  readonly #errorList = byId("errors-list", HTMLElement);
  readonly #errors: CallError[] = [];
  readonly #roots = new Map<string, HTMLElement>();
  readonly #changed = new Set<string>();
  readonly #bubbles: KeyedList<Piece>;
  /** Of a call that was live; one that was over before is read from its beginning. */
  #toEnd: (() => void) | null = null;
  readonly #case: CaseView;
  readonly #sound: SoundView;
  readonly #reader: CallReader;
  #info: CallInfo | null = null;
  #state: CallScreenState = "connecting";
  #hasFiles = false;
  readonly #draw = drawnOncePerFrame(() => this.#show());

  /** `onDeleted` is called when the user has deleted the call. */
  constructor(shelf: CallShelf, id: string, notices: NoticesView, onDeleted: () => void) {
    this.#shelf = shelf;
    this.#id = id;
    this.#notices = notices;
    this.#bubbles = new KeyedList<Piece>(
      this.#box,
      ({ key }) => key,
      ({ key, msg: first }) => {
        const card = renderMessage(first, null, this.#reader.deeds);
        this.#roots.set(key, card.root);
        return { root: card.root, update: ({ of, msg }) => this.#changed.has(of) && card.update(msg) };
      },
    );
    this.#case = new CaseView(shelf, id);
    this.#sound = new SoundView(() => notices.show("sound", words.notPlayed(), "hint"));
    const remove = makeDeleteQuestion(() => void this.#delete(onDeleted));
    byId("delete", HTMLElement).append(...remove.parts);
    this.#reader = new CallReader(shelf, id, {
      info: (told) => {
        this.#info = told;
        if (told.gaps?.length) notices.show("gaps", { what: say("call.gaps"), todo: "" }, "hint");
        remove.ask(words.deleteQuestion(told), say("delete.this"));
        this.#draw();
      },
      changed: (messageId) => {
        this.#changed.add(messageId);
        this.#draw();
      },
      failed: (error) => {
        if (!this.#errors.some(({ id: known }) => known === error.id)) this.#errors.push(error);
      },
      line: (isOpen, error) => {
        this.#state = isOpen ? (this.#info?.live ? "live" : "connecting") : "waiting";
        if (error) notices.show("line", problemWords(error), "hint");
        else notices.remove("line");
        this.#draw();
      },
    });
  }

  get state(): CallScreenState {
    return this.#state;
  }

  get reader(): CallReader {
    return this.#reader;
  }

  /** Follows the call to its end. */
  async follow(): Promise<void> {
    this.#draw();
    try {
      await this.#reader.follow();
      this.#state = "ended";
    } catch (error) {
      // A server that stores no calls forgets a call at its end.
      const isOver = this.#info !== null && error instanceof HttpProblem && error.status === 404;
      this.#state = isOver ? "ended" : "failed";
      if (isOver) this.#notices.show("line", words.stillShown(), "hint");
      else this.#notices.show("line", problemWords(error));
      this.#hasFiles = isOver;
    }
    this.#draw();
  }

  #show(): void {
    const messages = inOrder(this.#reader.transcript.told());
    this.#bubbles.update(messages);
    this.#changed.clear();
    const info = this.#info;
    const isOver = this.#state === "ended" || (info !== null && words.isCutOff(info));
    this.#box.hidden = messages.length === 0;
    // A screen reader follows a live call; nobody wants a whole call read out at once.
    this.#box.ariaLive = this.#plan.ariaLive = this.#state === "live" ? "polite" : "off";
    this.#plans.render(this.#reader.deeds.plans.map((plan) => ({ agentId: "", agentName: "", plan, isEditable: false })));
    this.#empty.hidden = messages.length > 0 || this.#state === "failed";
    setText(this.#empty, say(this.#state === "ended" ? "call.emptyOver" : "call.empty"));
    setText(this.#about, this.#aboutWords());
    this.#about.dataset["state"] = this.#state;
    if (info?.live && info.recorded && !isOver) this.#notices.show("recorded", words.recordedNow(), "hint");
    else this.#notices.remove("recorded");
    this.#showErrors();
    if (isOver && info && !this.#hasFiles) {
      this.#hasFiles = true;
      void this.#showFiles(info, messages);
    }
    if (info?.live) this.#toEnd ??= keepAtEnd(this.#box);
    this.#toEnd?.();
  }

  #aboutWords(): string {
    if (this.#state === "failed") return say("call.unshown");
    const info = this.#info;
    if (!info) return say("call.asking");
    const ended = words.endedWords(info);
    const state = { connecting: say("call.reading"), live: say("calls.live"), waiting: say("call.waiting"), ended }[this.#state];
    return [words.startedWords(info), words.durationWords(info), words.isCutOff(info) ? ended : state].filter(Boolean).join(" · ");
  }

  #showErrors(): void {
    this.#errorBox.hidden = this.#errors.length === 0;
    setText(this.#errorCount, words.errorWords(this.#errors.length));
    while (this.#errorList.childElementCount < this.#errors.length) {
      const error = this.#errors[this.#errorList.childElementCount]!;
      this.#errorList.append(make("li", "", make("time", "", words.clockWords(error.at)), ` ${error.message}`));
    }
  }

  async #showFiles(info: CallInfo, messages: readonly Piece[]): Promise<void> {
    const isEmpty = messages.length === 0;
    this.#files.hidden = false;
    this.#case.update(isEmpty ? null : info);
    const report = byId("report", HTMLAnchorElement);
    report.hidden = info.case == null;
    report.href = this.#shelf.address(this.#id, "report");
    for (const form of ["text", "srt", "json"]) {
      const link = byId(`as-${form}`, HTMLAnchorElement);
      link.hidden = isEmpty;
      link.href = this.#shelf.address(this.#id, "transcript", { form });
    }
    byId("downloads", HTMLElement).hidden = isEmpty && !info.recorded;
    if (!info.recorded) return;
    const address = this.#shelf.address(this.#id, "sound");
    const asSound = byId("as-sound", HTMLAnchorElement);
    asSound.hidden = false;
    asSound.href = address;
    try {
      const lines = await this.#shelf.lines(this.#id);
      this.#sound.show(address, lines, messages.flatMap(({ key, msg }) => {
        const root = this.#roots.get(key);
        return root ? [[msg, root] as const] : [];
      }));
    } catch {
      this.#notices.show("sound", words.notPlayed(), "hint");
    }
  }

  async #delete(onDeleted: () => void): Promise<void> {
    try {
      await this.#shelf.delete(this.#id);
      onDeleted();
    } catch (error) {
      if (error instanceof HttpProblem && error.status === 404) return onDeleted();
      this.#notices.show("delete", { what: say("delete.failed"), todo: reasonWords(error) });
    }
  }
}
