import type { OperationContext } from "../../admin/operations/context.ts";
import { createKey } from "../../admin/operations/create-key.ts";
import { nanoPerCredit } from "../../base/money.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { IssuedKey } from "../../keys/issue.ts";
import { count } from "../terminal/format.ts";
import type { Style } from "../terminal/style.ts";

const demoCredits = 5;
const demoTokens = 1_000_000;

/** On a store without any key: one key of each mode, so that the first request needs no second command. */
export async function makeFirstKeys(context: OperationContext): Promise<readonly IssuedKey[]> {
  const { keys } = await context.store.listKeys({ limit: 1 });
  if (keys.length > 0) return [];
  const label = "first run";
  return [
    await createKey(context, { mode: "credit", label, creditNano: demoCredits * nanoPerCredit }),
    await createKey(context, { mode: "token_budget", label, budgetTokens: demoTokens, period: "month" }),
  ];
}

/** Each key once, with a line that works as pasted. */
export function firstKeysText(
  issued: readonly IssuedKey[],
  models: readonly ModelSettings[],
  url: string,
  style: Style,
): string {
  const blocks = issued.map(({ key, secret }) => {
    const what =
      key.mode === "credit"
        ? `A credit key with ${demoCredits} credits:`
        : `A token-budget key with ${count(demoTokens)} tokens a month (mind the /token in its address):`;
    const line = curlLine(key.mode, secret, models, url);
    return [`  ${what}`, `  ${style.bold(secret)}`, ...(line === null ? [] : ["", `  ${line}`])].join("\n");
  });
  const title = `${style.good("✓")} First run: two keys were made. Keep them, they are shown only now.`;
  return `${[title, ...blocks].join("\n\n")}\n`;
}

/** The first model that the key can pay for; null when there is none. */
function curlLine(
  mode: IssuedKey["key"]["mode"],
  secret: string,
  models: readonly ModelSettings[],
  url: string,
): string | null {
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
