/** Sentences about voices over a reply: why it stopped or went on. */

import type { Bubble } from "./captions.ts";
import { type Key, say } from "./texts.ts";

/** By the reason of an `agent_interruption`. */
const REASONS: Record<string, Key> = {
  protected: "why.protected",
  echo: "why.echo",
  echo_words: "why.echo",
  far_voice: "why.far_voice",
  addressed: "why.addressed",
  side_talk: "why.side_talk",
  answer: "why.answer",
  stop_words: "why.stop_words",
  words: "why.words",
  few_words: "why.few_words",
  backchannel: "why.backchannel",
  no_words: "why.no_words",
  speech: "why.speech",
  short: "why.short",
  commit: "why.commit",
  cleared: "why.cleared",
  link_lost: "why.link_lost",
  settings: "why.settings",
  undecided: "why.undecided",
};

/** Where and why a reply was interrupted. */
export function stoppedWords({ stoppedBy }: Bubble): string {
  return stoppedBy ? say("bubble.interrupted.why", { why: wordsOf(stoppedBy) }) : say("bubble.interrupted");
}

/** A line for each reason why a voice did not stop the reply; none once another has stopped it. */
export function wentOnWords({ status, ignored = [] }: Bubble): string {
  if (status === "cut") return "";
  return ignored.map((reason) => say("bubble.wentOn", { why: wordsOf(reason) })).join("\n");
}

function wordsOf(reason: string): string {
  const key = REASONS[reason];
  return key === undefined ? reason.replaceAll("_", " ") : say(key);
}
