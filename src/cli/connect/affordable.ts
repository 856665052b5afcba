import { isObject } from "../../base/json.ts";

/** What one request of a key can reserve now; null if it is not limited, or not known. */
export interface Spendable {
  readonly amount: number;
  readonly unit: "USD" | "tokens";
}

/** What a request that names no output limit reserves; null if the model has no price or no limit. */
export interface DefaultHold {
  readonly usd: number | null;
  readonly tokens: number;
}

/** About what a coding agent sends with its first request: instructions and tools. */
const agentInputTokens = 20_000;
const perMillion = 1_000_000;

/** From the model's entry in `/v1/models`. */
export function defaultHoldOf(model: {
  readonly max_output_tokens?: unknown;
  readonly pricing?: unknown;
}): DefaultHold | null {
  const { max_output_tokens: output, pricing } = model;
  if (typeof output !== "number") return null;
  const tokens = agentInputTokens + output;
  if (!isObject(pricing)) return { usd: null, tokens };
  const { input: inputPrice, output: outputPrice } = pricing;
  if (typeof inputPrice !== "number" || typeof outputPrice !== "number") return { usd: null, tokens };
  return { usd: (agentInputTokens * inputPrice + output * outputPrice) / perMillion, tokens };
}

/** From `x-sluice-spendable` of `/v1/usage`. An older gateway does not send it. */
export function readSpendable(header: string | null): Spendable | null {
  const [, amount, unit] = /^(\S+) (USD|tokens)$/.exec(header ?? "") ?? [];
  return amount === undefined ? null : { amount: Number(amount), unit: unit === "USD" ? "USD" : "tokens" };
}

interface Offered {
  readonly id: string;
  readonly defaultHold: DefaultHold | null;
}

export function isAffordable({ defaultHold: hold }: Offered, spendable: Spendable | null): boolean {
  if (hold === null || spendable === null) return true;
  const held = spendable.unit === "USD" ? hold.usd : hold.tokens;
  return held === null || held <= spendable.amount;
}

/** Empty if a request fits what the key can spend. */
export function unaffordableTexts(
  model: Offered | undefined,
  spendable: Spendable | null,
): readonly string[] {
  if (model === undefined || spendable === null || isAffordable(model, spendable)) return [];
  const { unit, amount } = spendable;
  const held = unit === "USD" ? (model.defaultHold?.usd ?? 0) : (model.defaultHold?.tokens ?? 0);
  const shown = (value: number) => (unit === "USD" ? `${value.toFixed(2)} USD` : `${value} tokens`);
  return [
    `a request to "${model.id}" without an output limit reserves about ${shown(held)}, and this key can spend ${shown(amount)} now; pass --model with a cheaper one, set a lower output limit in the client, or raise the key's credit or cap`,
  ];
}
