/** What a call told about its deeds: receipts by tool call, withheld claims by item, and its plans. */

import type { ClaimWithheld, ConsentReceipt, Deed, Plan } from "@realtime-voice/client";

export class CallDeeds {
  readonly #receipts = new Map<string, ConsentReceipt>();
  readonly #claims = new Map<string, readonly ClaimWithheld[]>();
  readonly #plans = new Map<string, Plan>();

  /** Takes what was told, once however often it is told; returns the id of the block that it is about, null for none. */
  add({ name, value }: Deed): string | null {
    switch (name) {
      case "consent_receipt":
        this.#receipts.set(value.tool_call_id, value);
        return value.tool_call_id;
      case "claim_withheld": {
        const known = this.claimsOf(value.item_id);
        if (!known.some(({ sentence }) => sentence === value.sentence)) this.#claims.set(value.item_id, [...known, value]);
        return value.item_id;
      }
      case "plan_updated":
        if (value.plan) this.#plans.set(value.plan.id, value.plan);
        return null;
      default:
        return null;
    }
  }

  /** All plans of the call, the first one first, as far as they came. */
  get plans(): readonly Plan[] {
    return [...this.#plans.values()];
  }

  receiptOf(toolCallId: string): ConsentReceipt | null {
    return this.#receipts.get(toolCallId) ?? null;
  }

  claimsOf(itemId: string): readonly ClaimWithheld[] {
    return this.#claims.get(itemId) ?? [];
  }
}
