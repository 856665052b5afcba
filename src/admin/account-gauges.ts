import type { AccountGauges } from "../observe/metrics-gauges.ts";
import type { AdminDeps } from "./deps.ts";
import { viewAccounts } from "./operations/account-view.ts";

/** Each account is at least one time series, permanently. Larger installations use reports instead. */
const mostAccounts = 100;
const timeoutMs = 2_000;

/** The oldest accounts that keys share. None while the store does not answer: the other metrics say so, and must not wait. */
export async function accountGauges(
  deps: Pick<AdminDeps, "store" | "clock" | "trouble">,
): Promise<readonly AccountGauges[]> {
  if (deps.trouble() !== null) return [];
  const nothing = Bun.sleep(timeoutMs).then(() => []);
  return Promise.race([readGauges(deps).catch(() => []), nothing]);
}

async function readGauges(deps: Pick<AdminDeps, "store" | "clock">): Promise<AccountGauges[]> {
  const accounts = await deps.store.listAccounts({ limit: mostAccounts });
  return (await viewAccounts(deps, accounts)).map(({ id, label, credit, budget, caps }) => ({
    account: id,
    label: label ?? "",
    unit: credit === null ? "tokens" : "credits",
    balance: credit === null ? (budget?.remaining ?? null) : credit.balance,
    caps: caps.map(({ period, models, limit, used }) => ({ period, models: models ?? "", limit, used })),
  }));
}
