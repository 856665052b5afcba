import { type ForwardedHeaders, isSendable } from "../headers.ts";

interface Source {
  get(name: string): string | null;
}

const kinds = ["requests", "tokens"] as const;
const counts = ["limit", "remaining"] as const;
type Kind = (typeof kinds)[number];
type Field = (typeof counts)[number] | "reset";

/** A vendor's headers for its rate limits, and how it writes when one resets. */
export interface RateLimitForm {
  readonly names: Readonly<Record<Kind, Readonly<Record<Field, string>>>>;
  writeReset(resetMs: number, nowMs: number): string;
  /** How long from now; null if it is malformed. */
  readReset(text: string, nowMs: number): number | null;
}

function formOf(
  nameOf: (field: Field, kind: Kind) => string,
  reset: Pick<RateLimitForm, "writeReset" | "readReset">,
): RateLimitForm {
  const namesOf = (kind: Kind) => ({
    limit: nameOf("limit", kind),
    remaining: nameOf("remaining", kind),
    reset: nameOf("reset", kind),
  });
  return { names: { requests: namesOf("requests"), tokens: namesOf("tokens") }, ...reset };
}

/** A reset is the time until then: `6m0s`. */
export const openAiLimits = formOf((field, kind) => `x-ratelimit-${field}-${kind}`, {
  writeReset: (resetMs) => `${Math.ceil(resetMs / 1000)}s`,
  readReset: durationMs,
});

/** A reset is the moment itself (RFC 3339). */
export const anthropicLimits = formOf((field, kind) => `anthropic-ratelimit-${kind}-${field}`, {
  writeReset: (resetMs, nowMs) => writeMoment(nowMs + resetMs),
  readReset(text, nowMs) {
    const moment = Date.parse(text);
    return Number.isNaN(moment) ? null : Math.max(0, moment - nowMs);
  },
});

const forms: readonly RateLimitForm[] = [openAiLimits, anthropicLimits];

/**
 * A provider's rate-limit headers in the names of the client's vendor: OpenAI's `x-ratelimit-remaining-requests` is
 * Anthropic's `anthropic-ratelimit-requests-remaining`.
 */
export function translateRateLimits(answer: Source, form: RateLimitForm, nowMs: number): ForwardedHeaders {
  const headers: Record<string, string> = {};
  for (const kind of kinds) {
    for (const field of counts) {
      const value = firstOf(answer, kind, field)?.value ?? null;
      if (isSendable(value) && /^\d+$/.test(value)) headers[form.names[kind][field]] = value;
    }
    const reset = firstOf(answer, kind, "reset");
    const resetMs = reset === null ? null : reset.from.readReset(reset.value, nowMs);
    if (resetMs !== null) headers[form.names[kind].reset] = form.writeReset(resetMs, nowMs);
  }
  return headers;
}

/** A header in whichever form a provider has it. */
function firstOf(answer: Source, kind: Kind, field: Field) {
  for (const from of forms) {
    const value = answer.get(from.names[kind][field]);
    if (value !== null) return { from, value };
  }
  return null;
}

/** The state of a key's rate limit. */
interface OwnRateLimit {
  readonly limit: number | null;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** The gateway's own limit, in OpenAI's names, and in those that the route's clients read besides. */
export function addOwnRateLimit(
  headers: Record<string, string>,
  form: RateLimitForm,
  kind: Kind,
  own: OwnRateLimit,
  nowMs: number,
): void {
  addIn(openAiLimits, headers, kind, own, nowMs);
  if (form !== openAiLimits) addIn(form, headers, kind, own, nowMs);
}

function addIn(
  { names, writeReset }: RateLimitForm,
  headers: Record<string, string>,
  kind: Kind,
  { limit, remaining, resetSeconds }: OwnRateLimit,
  nowMs: number,
): void {
  headers[names[kind].limit] = String(limit);
  headers[names[kind].remaining] = String(remaining);
  headers[names[kind].reset] = writeReset(resetSeconds * 1000, nowMs);
}

function writeMoment(atMs: number): string {
  return new Date(Math.ceil(atMs / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const durationForm = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d)){1,5}$/;
const maxResetMs = 366 * 86_400_000;

/** A duration such as `1s`, `6m0s` or `120ms`; null if malformed, or longer than a year. */
export function durationMs(text: string): number | null {
  if (text.length > 40 || !durationForm.test(text)) return null;
  let total = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(amount) * (unitMs[unit] ?? 0);
  }
  return total <= maxResetMs ? total : null;
}
