import type { HoldProgress, Served } from "./records.ts";
import { quantitiesOf } from "./stored-quantities.ts";

/** The progress of a hold as a database returns it. */
export interface HoldRow extends Omit<HoldProgress, "rates" | "quantities" | "served"> {
  readonly ratesId: number | null;
  readonly rates: string | null;
  readonly quantities: string | null;
  readonly served: string | null;
}

export function holdOf({ ratesId: id, rates: text, quantities, served, ...hold }: HoldRow): HoldProgress {
  const rates = id === null || text === null ? null : { id, text };
  // Written by the gateway's own progress.
  const by = served === null ? null : (JSON.parse(served) as Served);
  return { ...hold, rates, quantities: quantitiesOf(quantities, null), served: by };
}
