import { StoreRefusal } from "./store.ts";

/** Where `sluice store copy` has taken a store's data, as the store itself remembers it. */
export interface Moved {
  readonly to: string;
  readonly atMs: number;
}

/** Two ledgers of one past would both be charged, and neither would be right. */
export function movedRefusal(name: string, { to, atMs }: Moved): StoreRefusal {
  const at = new Date(atMs).toISOString().slice(0, 16).replace("T", " ");
  return new StoreRefusal(
    "moved",
    `The data of ${name} was moved to ${to} at ${at} UTC (sluice store copy), and is used there now. Nothing was changed. ` +
      `Name that with --store or --data. To go on here on purpose, without what has happened there since: ` +
      `\`sluice store reopen --at ${name}\`.`,
  );
}
