import { nanoPerCredit } from "../../base/money/money.ts";
import { unitsOf } from "../../base/money/rates.ts";
import type { ModelSettings } from "../../config/settings.ts";
import { addOwnRateLimit } from "../../dialects/errors/rate-limits.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { CostMeter, ShownCharge } from "../charge/cost-meter.ts";
import type { Exchange } from "../exchange/exchange.ts";

/** Responses to a key depend on the key and the time, so no cache may reuse them for other callers. */
const notShared = { "cache-control": "no-store", vary: "authorization, x-api-key" } as const;

/** On every response: its id, and the key's rate limits. */
export function commonHeaders(exchange: Exchange): Record<string, string> {
  const headers: Record<string, string> = {};
  const { errors, method } = exchange.call.route;
  if (method === "GET") addHeaders(headers, notShared);
  for (const name of errors.requestIdHeaders) headers[name] = exchange.id;
  const { rate, key } = exchange;
  const { reservedTokens } = exchange.taken;
  if (rate !== null && rate.limit !== null) {
    addOwnRateLimit(headers, errors.rateLimits, "requests", rate, exchange.atMs);
  }
  // For a token budget the same names say what is left of it.
  if (reservedTokens !== null && key?.mode === "credit") {
    addOwnRateLimit(headers, errors.rateLimits, "tokens", reservedTokens.verdict, exchange.atMs);
  }
  const served = servedInstead(exchange);
  if (served !== null) headers["x-sluice-model"] = headerText(served.id);
  const dropped = droppedHeader(exchange);
  if (dropped !== undefined) headers["x-sluice-dropped"] = dropped;
  const kept = exchange.taken.content?.kept ?? "none";
  if (kept !== "none") headers["x-sluice-content"] = kept === "all" ? "recorded" : "may-be-recorded";
  if (exchange.taken.recorder?.isKept === false) headers["x-sluice-idempotency"] = "not-kept";
  return headers;
}

/** The model that runs in place of the requested one; a fallback is known only when it responds. */
function servedInstead({ taken, fallback, steppedDown, model }: Exchange): ModelSettings | null {
  if (taken.answer !== null && fallback !== null) return fallback;
  return steppedDown === null ? null : model;
}

/** Adds them to the same object: spreading would create most of the garbage of a response. */
export function addHeaders(headers: Record<string, string>, more: Readonly<Record<string, string>>): void {
  for (const name in more) headers[name] = more[name] as string;
}

/** Adds a provider's headers, unless the gateway has set its own. */
export function addMissingHeaders(
  headers: Record<string, string>,
  more: Readonly<Record<string, string>>,
): void {
  for (const name in more) headers[name] ??= more[name] as string;
}

const maxDroppedLength = 1000;

/** Field names come from the client; characters that a header cannot carry become question marks. */
export function droppedHeader({ dropped, unpricedTools }: Exchange): string | undefined {
  if (dropped.length + unpricedTools.length === 0) return undefined;
  return headerText([...unpricedTools, ...dropped].join(", ").slice(0, maxDroppedLength));
}

function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}

/** The cost of a call and the remaining amount, in credits or tokens. */
export function addCostHeaders(
  headers: Record<string, string>,
  { key, remaining }: CostMeter,
  { cost, quantities }: ShownCharge,
): void {
  headers["x-sluice-cost"] = costText(cost, key);
  const units = quantities === null ? null : unitsOf(quantities);
  if (units !== null) headers["x-sluice-units"] = `${units.kind}=${Number(units.amount.toFixed(6))}`;
  // Without a limit there is nothing to show.
  if (!Number.isFinite(remaining)) return;
  if (key.mode === "credit") headers["x-service-credit-remaining"] = creditsText(remaining);
  else headers["x-ratelimit-remaining-tokens"] = String(remaining);
}

/** The cost as a comment before a stream's end, for clients that requested it. */
export function costComment(exchange: Exchange, key: KeyRecord): string {
  const wantsCost = exchange.call.request.headers.get("x-sluice-cost") === "comment";
  return wantsCost ? `: x-sluice-cost: ${costText(exchange.charged, key)}\n\n` : "";
}

function costText(charged: number, { mode }: KeyRecord): string {
  return mode === "credit" ? creditsText(charged) : String(charged);
}

const zero = 48;

/** Nano-credits as plain decimal credits, without an exponent and without trailing zeros. */
export function creditsText(nano: number): string {
  const fraction = nano % nanoPerCredit;
  const whole = (nano - fraction) / nanoPerCredit;
  if (fraction === 0) return String(whole);
  const digits = String(nanoPerCredit + fraction);
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === zero) end -= 1;
  return `${whole}.${digits.slice(1, end)}`;
}
