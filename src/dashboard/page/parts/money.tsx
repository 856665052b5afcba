import { count, credits, exactCredits } from "../format.ts";

interface MoneyProps {
  readonly amount: number;
  readonly unit?: "credits" | "tokens";
  /** All digits: for a single charge, which is what the ledger has. */
  readonly exact?: boolean;
}

/** An amount as lists show it, with at most four decimals; pointing at it shows the ledger's own figure. */
export function Money({ amount: value, unit = "credits", exact = false }: MoneyProps) {
  if (unit === "tokens") return <>{`${count(value)} ${value === 1 ? "token" : "tokens"}`}</>;
  return <span title={`${exactCredits(value)} credits`}>{exact ? exactCredits(value) : credits(value)}</span>;
}
