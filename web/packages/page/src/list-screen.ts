/** The screen with a user's calls: searched, opened, deleted. */

import { ALL_CALLS, type CallFilter, type CallShelf, HttpProblem, problemWords, reasonWords } from "./call-reader.ts";
import { say } from "./texts.ts";
import { CallListView } from "./view/call-list-view.ts";
import { byId, setTextOrHide } from "./view/elements.ts";
import type { NoticesView } from "./view/notices-view.ts";

const LIST_AGAIN_MS = 5_000;
/** A shorter list is read at a glance. */
const LONG = 8;
const TYPING_MS = 250;

/** Shows the list, and follows it until the server refuses to give it. */
export async function showList(shelf: CallShelf, urlOf: (callId: string) => string, notices: NoticesView): Promise<void> {
  const search = byId("search", HTMLFormElement);
  const field = byId("search-words", HTMLInputElement);
  const onlyErrors = byId("only-errors", HTMLInputElement);
  const older = byId("older-calls", HTMLButtonElement);
  const empty = byId("empty", HTMLElement);
  const view = new CallListView(byId("calls", HTMLElement), urlOf, async ({ call_id }) => {
    try {
      await shelf.delete(call_id);
    } catch (error) {
      if (!(error instanceof HttpProblem && error.status === 404)) {
        notices.show("delete", { what: say("delete.failed"), todo: reasonWords(error) });
        return;
      }
    }
    notices.remove("delete");
    await refresh();
  });
  let pages = 1;
  let filter: CallFilter = ALL_CALLS;
  const isFiltered = (): boolean => filter.words !== "" || filter.errors;

  const refresh = async (): Promise<boolean> => {
    const asked = filter;
    try {
      const { calls, next } = await shelf.list(pages, asked);
      // The answer to an earlier search is of no use.
      if (asked !== filter) return true;
      older.hidden = next === null;
      notices.remove("list");
      view.update(calls);
      search.hidden = !isFiltered() && calls.length < LONG && next === null && !search.contains(document.activeElement);
      setTextOrHide(empty, calls.length > 0 ? "" : say(isFiltered() ? "calls.noMatch" : "calls.none"));
    } catch (error) {
      notices.show("list", problemWords(error));
      return !(error instanceof HttpProblem) || error.mayPass;
    }
    return true;
  };

  const filterNow = (): void => {
    filter = { words: field.value.trim(), errors: onlyErrors.checked };
    pages = 1;
    void refresh();
  };
  let typing = 0;
  field.addEventListener("input", () => {
    clearTimeout(typing);
    typing = window.setTimeout(filterNow, TYPING_MS);
  });
  onlyErrors.addEventListener("change", filterNow);
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    filterNow();
  });
  older.addEventListener("click", () => {
    pages++;
    void refresh();
  });

  while (await refresh()) {
    await new Promise((go) => setTimeout(go, LIST_AGAIN_MS));
    if (document.hidden) await new Promise((go) => document.addEventListener("visibilitychange", go, { once: true }));
  }
}
