/** How long to wait between two tries to get a lost line back. Pure. */

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4_000;

/**
 * ms before try number `attempt`, counted from 0: the first is made at once. `chance` gives numbers from 0 to below 1;
 * half of every delay is left to it, so that the pages of a restarted server do not all come back at the same moment.
 */
export function retryDelayMs(attempt: number, chance: () => number): number {
  if (attempt === 0) return 0;
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (0.5 + chance() / 2);
}
