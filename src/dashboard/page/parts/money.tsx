import { count, credits, exactCredits } from "../format.ts";

/** An amount as lists show it, with at most four decimals; pointing at it shows the ledger's own figure. */
export function Money({ amount: value, unit = "credits" }: { amount: number; unit?: "credits" | "tokens" }) {
  if (unit === "tokens") return <>{`${count(value)} ${value === 1 ? "token" : "tokens"}`}</>;
  return <span title={`${exactCredits(value)} credits`}>{credits(value)}</span>;
}
