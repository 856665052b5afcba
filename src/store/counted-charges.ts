import type { ChargeEntry } from "./records.ts";

/** An amount charged, and when it counts. */
export type CountedCharge = Pick<
  ChargeEntry,
  "keyId" | "accountId" | "model" | "labels" | "atMs" | "charged" | "periodStartMs" | "countedAtMs"
>;

/** The charge, in two parts if they count in different periods. */
export function countedCharges(charge: ChargeEntry): readonly CountedCharge[] {
  const { owedAt, owed } = charge;
  if (owedAt === undefined) return [charge];
  return [
    { ...charge, charged: charge.charged - owed },
    { ...charge, ...owedAt, charged: owed },
  ];
}
