/** The variable by which Bun limits concurrent calls of `fetch`. It is read before any of our code. */
export const fetchLimitVariable = "BUN_CONFIG_MAX_HTTP_REQUESTS";

const defaultFetchLimit = 256;
/** For 0, and from 65,536 on, Bun uses its default. */
export const maxFetchLimit = 65_535;

/** How many calls of `fetch` Bun runs at once. It queues the rest silently. */
export function fetchLimit(): number {
  const set = Number(process.env[fetchLimitVariable]);
  return Number.isInteger(set) && set > 0 && set <= maxFetchLimit ? set : defaultFetchLimit;
}
