import { maxCredits, nanoFromCredits } from "../../base/money/money.ts";
import { AdminError } from "../formats/admin-error.ts";

export function nano(credits: number, param: string): number {
  const amount = nanoFromCredits(credits);
  if (amount !== null) return amount;
  const message = `An amount can be at most ${maxCredits}, with at most nine decimals.`;
  throw new AdminError(400, "invalid_request", message, { param });
}

export function signedNano(amount: number): number {
  return Math.sign(amount) * nano(Math.abs(amount), "amount");
}
