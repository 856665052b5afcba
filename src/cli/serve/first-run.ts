import type { OperationContext } from "../../admin/operations/context.ts";
import { createKey } from "../../admin/operations/create-key.ts";
import { nanoPerCredit } from "../../base/money.ts";
import { count } from "../../base/plural.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { IssuedKey } from "../../keys/issue.ts";
import type { KeyMode } from "../../store/store.ts";
import type { Style } from "../terminal/style.ts";

const demoCredits = 5;
const demoTokens = 1_000_000;

export interface FirstKeys {
  readonly issued: readonly IssuedKey[];
  /** There are no keys, and none were created. */
  readonly hasNone: boolean;
}

/**
 * Creates one key of each mode if the store has none and only the demo is configured, so that the first request
 * needs no second command. A real configuration gets none, because its credit is real money.
 */
export async function makeFirstKeys(context: OperationContext, isDemo: boolean): Promise<FirstKeys> {
  const { keys } = await context.store.listKeys({ limit: 1 });
  if (keys.length > 0) return { issued: [], hasNone: false };
  if (!isDemo) return { issued: [], hasNone: true };
  const credit = { label: "demo credit", creditNano: demoCredits * nanoPerCredit };
  const budget = { label: "demo token budget", budgetTokens: demoTokens, period: "month" as const };
  const issued = [
    await createKey(context, { mode: "credit", ...credit }),
    await createKey(context, { mode: "token_budget", ...budget }),
  ];
  return { issued, hasNone: false };
}

export const noKeysText =
  "there are no keys yet; make one with `sluice keys create --mode credit --credit 5 --label …`";

export function firstKeysDocument(issued: readonly IssuedKey[]): readonly object[] {
  return issued.map(({ key, secret }) => ({ id: key.id, key: secret, prefix: key.prefix, mode: key.mode }));
}

interface Reachable {
  readonly url: string;
  readonly models: readonly ModelSettings[];
}

/** Shows each key once, with a command that works as pasted. */
export function firstKeysText(issued: readonly IssuedKey[], gateway: Reachable, style: Style): string {
  const blocks = issued.map(({ key, secret }) => {
    const what =
      key.mode === "credit"
        ? `A credit key with ${demoCredits} credits:`
        : `A token-budget key with ${count(demoTokens)} tokens a month (mind the /token in its address):`;
    const line = curlLine(key.mode, secret, gateway);
    return [`  ${what}`, `  ${style.bold(secret)}`, ...(line === null ? [] : ["", `  ${line}`])].join("\n");
  });
  const title = `${style.good("✓")} First run: two keys were made. Keep them, they are shown only now.`;
  return `${[title, ...blocks].join("\n\n")}\n`;
}

/** Uses the first model that the key can pay for; null if there is none. */
function curlLine(mode: KeyMode, secret: string, { url, models }: Reachable): string | null {
  const model = models.find((each) => mode === "token_budget" || each.free || each.price !== null);
  if (model === undefined) return null;
  const origin = mode === "credit" ? url : `${url}/token`;
  const body = JSON.stringify({
    model: model.id,
    stream: true,
    messages: [{ role: "user", content: "Hello! Who are you?" }],
  });
  return [
    `curl -N ${origin}/v1/chat/completions`,
    `-H "Authorization: Bearer ${secret}"`,
    `-H "Content-Type: application/json"`,
    `-d '${body.replaceAll("'", "'\\''")}'`,
  ].join(" ");
}
