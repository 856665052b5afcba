import type { ErrorFormat } from "./errors/envelope.ts";
import { type ForwardedHeaders, isSendable } from "./headers.ts";

interface Source {
  get(name: string): string | null;
}

const kinds = ["requests", "tokens"] as const;

/**
 * A provider's rate-limit headers in the names of the client's vendor: OpenAI's `x-ratelimit-remaining-requests` is
 * Anthropic's `anthropic-ratelimit-requests-remaining`. A reset is the time until then at OpenAI (`6m0s`), and the moment
 * itself at Anthropic (RFC 3339).
 */
export function translateRateLimits(answer: Source, format: ErrorFormat, nowMs: number): ForwardedHeaders {
  const headers: Record<string, string> = {};
  for (const kind of kinds) {
    for (const field of ["limit", "remaining"] as const) {
      const value = answer.get(openAiName(field, kind)) ?? answer.get(anthropicName(field, kind));
      if (isSendable(value) && /^\d+$/.test(value)) headers[nameIn(format, field, kind)] = value;
    }
    const resetMs = resetIn(answer, kind, nowMs);
    if (resetMs !== null) headers[nameIn(format, "reset", kind)] = writeReset(format, resetMs, nowMs);
  }
  return headers;
}

/** The state of a key's rate limit. */
interface OwnRateLimit {
  readonly limit: number | null;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** The gateway's own limit, in OpenAI's names, and in those that the format's clients read besides. */
export function addOwnRateLimit(
  headers: Record<string, string>,
  format: ErrorFormat,
  kind: Kind,
  { limit, remaining, resetSeconds }: OwnRateLimit,
  nowMs: number,
): void {
  const names = headerNames[kind];
  headers[names.openai.limit] = String(limit);
  headers[names.openai.remaining] = String(remaining);
  headers[names.openai.reset] = `${resetSeconds}s`;
  if (format === "openai") return;
  headers[names.anthropic.limit] = String(limit);
  headers[names.anthropic.remaining] = String(remaining);
  headers[names.anthropic.reset] = anthropicReset(nowMs + resetSeconds * 1000);
}

/** A moment as Anthropic writes it. */
function anthropicReset(atMs: number): string {
  return new Date(Math.ceil(atMs / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

type Field = "limit" | "remaining" | "reset";
type Kind = (typeof kinds)[number];

/** Composed once: every authenticated response has some of them. */
const headerNames = Object.fromEntries(
  kinds.map((kind) => [kind, { openai: namesOf(openAiName, kind), anthropic: namesOf(anthropicName, kind) }]),
) as Readonly<Record<Kind, Readonly<Record<"openai" | "anthropic", Readonly<Record<Field, string>>>>>>;

function namesOf(nameOf: (field: Field, kind: string) => string, kind: Kind): Record<Field, string> {
  return { limit: nameOf("limit", kind), remaining: nameOf("remaining", kind), reset: nameOf("reset", kind) };
}

function nameIn(format: ErrorFormat, field: Field, kind: string): string {
  return format === "openai" ? openAiName(field, kind) : anthropicName(field, kind);
}

function openAiName(field: Field, kind: string): string {
  return `x-ratelimit-${field}-${kind}`;
}

function anthropicName(field: Field, kind: string): string {
  return `anthropic-ratelimit-${kind}-${field}`;
}

/** How long from now, in either form; null if there is none, or it is malformed. */
function resetIn(answer: Source, kind: string, nowMs: number): number | null {
  const duration = answer.get(openAiName("reset", kind));
  if (duration !== null) return durationMs(duration);
  const moment = Date.parse(answer.get(anthropicName("reset", kind)) ?? "");
  return Number.isNaN(moment) ? null : Math.max(0, moment - nowMs);
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

function writeReset(format: ErrorFormat, resetMs: number, nowMs: number): string {
  return format === "openai" ? `${Math.ceil(resetMs / 1000)}s` : anthropicReset(nowMs + resetMs);
}
