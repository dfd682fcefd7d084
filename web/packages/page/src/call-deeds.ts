/** What a call told about its deeds, by what it is about: receipts by tool call, withheld claims by item. */

import type { ClaimWithheld, ConsentReceipt, Deed } from "@realtime-voice/client";

export class CallDeeds {
  readonly #receipts = new Map<string, ConsentReceipt>();
  readonly #claims = new Map<string, readonly ClaimWithheld[]>();

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
      default:
        return null;
    }
  }

  receiptOf(toolCallId: string): ConsentReceipt | null {
    return this.#receipts.get(toolCallId) ?? null;
  }

  claimsOf(itemId: string): readonly ClaimWithheld[] {
    return this.#claims.get(itemId) ?? [];
  }
}
