/** The delay between two tries to reconnect. Pure. */

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4_000;

/**
 * Returns the delay in ms before a try; `attempt` counts from 0, and the first try comes at once. `chance` gives numbers
 * from 0 to below 1 and decides half of each delay, so that the pages of a restarted server do not return all at once.
 */
export function retryDelayMs(attempt: number, chance: () => number): number {
  if (attempt === 0) return 0;
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (0.5 + chance() / 2);
}
