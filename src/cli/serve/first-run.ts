import type { OperationContext } from "../../admin/context.ts";
import { createKey } from "../../admin/keys/create-key.ts";
import { nanoPerCredit } from "../../base/money/money.ts";
import { count } from "../../base/text/plural.ts";
import { shellQuoted } from "../../base/text/shell-word.ts";
import type { ModelSettings, Settings } from "../../config/settings.ts";
import type { IssuedKey } from "../../keys/issue.ts";
import type { KeyMode } from "../../store/store.ts";
import type { Style } from "../terminal/style.ts";

const demoCredits = 5;
const demoTokens = 1_000_000;

export interface FirstKeys {
  readonly issued: readonly IssuedKey[];
  /** True if there are no keys and none were created. */
  readonly hasNone: boolean;
}

/**
 * Creates one key of each mode if the store has none and the gateway is being tried out, so that the first request
 * needs no second command. With a file that has real providers, no keys are created, because their credit is real
 * money. Without a file, only the credit key can use vendors from the environment, because its credit is limited; a
 * million tokens of a large model would cost more. The keys of a trial with only the demo stay limited to the demo.
 */
export async function createFirstKeys(context: OperationContext, settings: Settings): Promise<FirstKeys> {
  const { isDemo } = settings;
  if (await hasKeys(context)) return { issued: [], hasNone: false };
  if (!isDemo && settings.source !== null) return { issued: [], hasNone: true };
  const models = settings.models.filter(isServedByDemo(settings)).map(({ id }) => id);
  if (models.length === 0) return { issued: [], hasNone: true };
  const credit = { creditNano: demoCredits * nanoPerCredit, models: isDemo ? models : null };
  const budget = { budgetTokens: demoTokens, period: "month" as const, models };
  const issued = [
    await createKey(context, { label: "demo credit", mode: "credit", ...credit }),
    await createKey(context, { label: "demo token budget", mode: "token_budget", ...budget }),
  ];
  if (isDemo) for (const { key } of issued) await context.store.admin.addTrialKey(key.id);
  return { issued, hasNone: false };
}

/** Whether there are keys, except keys of a trial that has ended. */
async function hasKeys({ store }: OperationContext): Promise<boolean> {
  const ofTrial = await store.admin.listTrialKeys();
  const { keys } = await store.listKeys({ limit: ofTrial.length + 1 });
  return keys.some(({ id, status }) => status !== "revoked" || !ofTrial.includes(id));
}

export const noKeysText =
  "there are no keys yet; create one with `sluice keys create --mode credit --credit 5 --label …`";

export function firstKeysDocument(issued: readonly IssuedKey[]): readonly object[] {
  return issued.map(({ key, secret }) => ({ id: key.id, key: secret, prefix: key.prefix, mode: key.mode }));
}

interface ReachableGateway {
  readonly url: string;
  readonly settings: Settings;
}

function isServedByDemo({ providers }: Settings): (model: ModelSettings) => boolean {
  return ({ deployments }) => deployments.every(({ provider }) => providers.get(provider)?.kind === "demo");
}

/** Shows each key once, with a command that works as pasted. */
export function firstKeysText(issued: readonly IssuedKey[], gateway: ReachableGateway, style: Style): string {
  const blocks = issued.map(({ key, secret }) => {
    const { isDemo } = gateway.settings;
    const what =
      key.mode === "credit"
        ? `A credit key with ${demoCredits} credits${isDemo ? "" : ` (it can spend ${demoCredits} USD at the vendors)`}:`
        : `A token-budget key with ${count(demoTokens)} tokens a month${isDemo ? "" : " for the demo models"} (note the /token in its address):`;
    const line = curlLine(key.mode, secret, gateway);
    return [`  ${what}`, `  ${style.bold(secret)}`, ...(line === null ? [] : ["", `  ${line}`])].join("\n");
  });
  const title = `${style.good("✓")} First run: created two keys. Save them, they are not shown again.`;
  return `${[title, ...blocks].join("\n\n")}\n`;
}

/** Null if the key can use no model. */
function curlLine(mode: KeyMode, secret: string, { url, settings }: ReachableGateway): string | null {
  const model = mode === "credit" ? modelToTry(settings) : settings.models.find(isServedByDemo(settings));
  return model === undefined ? null : curlFor(model, mode === "credit" ? url : `${url}/token`, secret);
}

/** The catalog lists a vendor's current models first. */
const currentModels = 5;

/**
 * The model for the first request: an LLM that a credit key can use, preferably the vendor's current one with the lowest output
 * price, else a demo model.
 */
export function modelToTry(settings: Settings): ModelSettings | undefined {
  const isDemo = isServedByDemo(settings);
  const usable = settings.models.filter(
    ({ free, price, serves, listed }) => listed && serves.includes("generation") && (free || price !== null),
  );
  const [first] = usable.filter((model) => !isDemo(model));
  if (first === undefined) return usable[0];
  const sameVendor = usable.filter(
    (model) => model.deployments[0]?.provider === first.deployments[0]?.provider,
  );
  const outputOf = ({ price }: ModelSettings) => price?.output ?? 0;
  return sameVendor
    .slice(0, currentModels)
    .reduce((lowest, model) => (outputOf(model) < outputOf(lowest) ? model : lowest));
}

/** A command that works as pasted. */
export function curlFor({ id }: ModelSettings, origin: string, key: string): string {
  const messages = [{ role: "user", content: "Hello! Who are you?" }];
  const body = JSON.stringify({ model: id, stream: true, messages });
  return [
    `curl -N ${origin}/v1/chat/completions`,
    `-H "Authorization: Bearer ${key}"`,
    `-H "Content-Type: application/json"`,
    `-d ${shellQuoted(body)}`,
  ].join(" ");
}
