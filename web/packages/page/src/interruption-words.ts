/** Sentences about voices over a reply: why it stopped or went on. Pure. */

import type { Bubble } from "./captions.ts";

const OWN_VOICE = "the agent heard itself";

/** By the reason of an `agent_interruption`. */
const REASONS: Record<string, string> = {
  protected: "the reply had only just begun",
  echo: OWN_VOICE,
  echo_words: OWN_VOICE,
  far_voice: "the voice was far away",
  addressed: "an agent was called by name",
  side_talk: "words to another person",
  answer: "an answer to its question",
  stop_words: "“stop”, “wait”, a question or the like",
  words: "words for the agent",
  few_words: "too few words",
  backchannel: "only “mm-hm” or the like",
  no_words: "a sound without words",
  speech: "the voice did not pause",
  short: "too short for words",
  commit: "the turn was sent",
  cleared: "the sound was discarded",
  link_lost: "the link to the model was lost",
  settings: "the settings changed",
  undecided: "no words were understood",
};

/** Where and why a reply was interrupted. */
export function stoppedWords({ stoppedBy }: Bubble): string {
  return `Interrupted here${stoppedBy ? `: ${wordsOf(stoppedBy)}` : ""}`;
}

/** A line for each reason why a voice did not stop the reply. */
export function wentOnWords({ ignored = [] }: Bubble): string {
  return ignored.map((reason) => `Went on: ${wordsOf(reason)}`).join("\n");
}

function wordsOf(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}
