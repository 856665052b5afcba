import type { HoldProgress } from "./records.ts";
import { quantitiesOf } from "./stored-quantities.ts";

/** The progress of a hold as a database returns it. */
export interface HoldRow extends Omit<HoldProgress, "rates" | "quantities"> {
  readonly ratesId: number | null;
  readonly rates: string | null;
  readonly quantities: string | null;
}

export function holdOf({ ratesId: id, rates: text, quantities, ...hold }: HoldRow): HoldProgress {
  const rates = id === null || text === null ? null : { id, text };
  return { ...hold, rates, quantities: quantitiesOf(quantities, null) };
}
