/** Why a plan was not changed. */

import { say } from "./texts.ts";
import type { Notice } from "./words.ts";

const REASONS: Readonly<Record<string, () => string>> = {
  no_plan: () => say("plan.gone"),
  plan_replaced: () => say("plan.gone"),
  plan_not_editable: () => say("plan.fixed"),
  // What rule forbids it, in the server's words.
  plan_edit_refused: () => "",
  too_many_plan_edits: () => say("plan.tooOften"),
};

export function isAboutPlan(code: string): boolean {
  return Object.hasOwn(REASONS, code);
}

/** The error of a change that was not made. */
export function planNotice({ code, message }: { readonly code: string; readonly message: string }): Notice {
  return { what: say("plan.unchanged"), todo: REASONS[code]?.() || message };
}
