"""Pages for the tests of the client package, which keep what their client tells."""

from typing import Any

from playwright.sync_api import Page

# A page that keeps what its client tells, for a test to read.
LAB = """<!doctype html><title>Lab</title><button id="go">Go</button>
<script type="module">
  import * as Realtime from "SERVER/client/realtime.js";
  window.make = (options) => {
    const client = new Realtime.RealtimeClient(options);
    const told = { states: [], errors: [], sentences: [], details: [], order: [], events: [] };
    told.levels = { user: 0, agent: 0 };
    client.on("state", (state) => { told.states.push(state); told.order.push(state); });
    client.on("error", ({ problem, message, detail }) => {
      told.errors.push(problem);
      told.sentences.push(message);
      told.details.push(detail);
      told.order.push(`error ${problem}`);
    });
    client.on("ended", (wanted) => told.order.push(`over ${wanted}`));
    client.on("event", ({ type }) => told.events.push(type));
    client.microphone.on("level", (level) => { told.levels.user = Math.max(told.levels.user, level); });
    client.speaker.on("level", (level) => { told.levels.agent = Math.max(told.levels.agent, level); });
    Object.assign(window, { client, told, Realtime });
  };
</script>"""

# A page with the element, which notes the events that reach the document.
ELEMENT = """<!doctype html><title>Element</title><script src="SERVER/client/realtime.script.js"></script>
<realtime-voice server="SERVER" ATTRIBUTES></realtime-voice>
<script>
  const told = { states: [], errors: [] };
  document.addEventListener("voice-state", ({ detail }) => told.states.push(detail));
  document.addEventListener("voice-error", ({ detail }) => told.errors.push(detail.problem));
  const voice = document.querySelector("realtime-voice");
  const client = voice.client;
</script>"""


def wait(page: Page, condition: str) -> None:
    """Wait for a JavaScript condition."""
    page.evaluate(
        """async () => {
          const since = performance.now();
          while (!(CONDITION)) {
            if (performance.now() - since > 30000) throw new Error(JSON.stringify([told, client.messages.list]));
            await new Promise((go) => setTimeout(go, 10));
          }
        }""".replace("CONDITION", condition)
    )


def said(page: Page) -> list[tuple[str, str]]:
    messages: list[dict[str, Any]] = page.evaluate("client.messages.list")
    return [(message["from"], message["text"]) for message in messages]
