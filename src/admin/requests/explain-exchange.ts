import { outputTokensOf } from "../../base/money/rates.ts";
import type { AttemptRecord } from "../../base/requests/attempt.ts";
import type { Settings } from "../../config/settings.ts";
import type { Entry, FiledExchange, ListedExchange } from "../../store/store.ts";
import type { KeyView } from "../key-terms/schema.ts";
import { adviceFor } from "./exchange-advice.ts";

/** Explains why an exchange ended as it did, and what to do about it given the key's current state. */
export function explainExchange(
  { exchange, attempts, entries }: FiledExchange,
  key: KeyView | null,
  settings: Settings,
): string {
  if (exchange === null) return explainEntry(entries[0]?.outcome ?? null);
  const sentences = [ending(exchange, attempts, entries), ...attempts.map(attemptSentence)];
  if (exchange.alike > 0) {
    sentences.push(
      `${exchange.alike} identical requests ended in the same second. They are counted, but not listed.`,
    );
  }
  const advice = adviceFor(exchange, attempts, key, settings);
  if (advice !== null) sentences.push(advice);
  return sentences.filter((sentence) => sentence !== "").join(" ");
}

/** The explanation that remains once the request log has dropped the request. */
function explainEntry(outcome: string | null): string {
  if (outcome === "cancelled") return "The client disconnected. The output produced by then was charged.";
  if (outcome === "interrupted") return interrupted;
  return "Only its ledger entries remain.";
}

const allowance =
  "Abandoned requests are free up to 0.10 credits (10,000 tokens) of input, or 1% of the account's charges in the last 24 hours.";
const allowanceUsedUp =
  "Its input was charged, because the account had used up its allowance for abandoned requests: 0.10 credits (10,000 tokens), or 1% of its charges in the last 24 hours.";

function isChargeOfInput({ kind, basis, quantities }: Entry): boolean {
  return (
    kind === "charge" && basis === "estimated" && quantities !== null && outputTokensOf(quantities) === 0
  );
}

const interrupted =
  "The gateway process ended during the request. The output produced by then was charged at the next start.";

function ending(
  exchange: ListedExchange,
  attempts: readonly AttemptRecord[],
  entries: readonly Entry[],
): string {
  const { outcome, entryId, totalMs } = exchange;
  switch (outcome) {
    case "completed":
      return attempts.length > 1 ? `It completed at attempt ${attempts.length}.` : "It completed.";
    case "interrupted":
      return interrupted;
    case "cancelled": {
      const after = totalMs === null ? "" : ` after ${spanText(totalMs)}`;
      const isInputAlone = entries.some(isChargeOfInput);
      if (isInputAlone) return `The client disconnected${after}, before any output. ${allowanceUsedUp}`;
      if (entryId !== null)
        return `The client disconnected${after}. The output produced by then was charged.`;
      const nothing = `The client disconnected${after}, before any output, so nothing was charged.`;
      return attempts.length === 0 ? nothing : `${nothing} ${allowance}`;
    }
    case "rejected":
      return `It was rejected with ${reason(exchange)}${providersCalled(attempts)} Nothing was charged.`;
    case "failed":
      return failure(exchange, attempts);
  }
}

function failure(exchange: ListedExchange, attempts: readonly AttemptRecord[]): string {
  const { status, code, message, entryId } = exchange;
  const hadBegun = status !== null && status < 400;
  if (!hadBegun) return `It failed with ${reason(exchange)}${providersCalled(attempts)} Nothing was charged.`;
  const why = code === null ? "" : ` (${code}${message === null ? "" : `: ${withoutStop(message)}`})`;
  return entryId === null
    ? `The response was interrupted${why} before any content, so nothing was charged.`
    : `The response was interrupted${why} after content had been sent. The output produced by then was charged.`;
}

/** `429 rate_limit_exceeded: The key's limit …`, ending in a full stop. */
function reason({ status, code, message }: ListedExchange): string {
  const name = [status, code].filter((part) => part !== null).join(" ");
  if (message === null) return `${name}.`;
  return `${name}: ${message}${/[.!?]$/.test(message) ? "" : "."}`;
}

function providersCalled(attempts: readonly AttemptRecord[]): string {
  return attempts.length === 0 ? " No provider was called." : "";
}

const nextSteps = {
  retry: "It was retried.",
  other_key: "It was retried with a different credential of the provider.",
  next_deployment: "The next deployment was tried.",
  ended: "",
} as const;

function attemptSentence(attempt: AttemptRecord): string {
  const { deployment, status, failure, cause, said, durationMs, left } = attempt;
  const took = spanText(durationMs);
  if (failure === null) return `${deployment} responded in ${took}.`;
  const quoted = said === null ? "" : `: “${withoutStop(said)}”`;
  const what =
    failure === "interrupted_response"
      ? `started to respond after ${took}`
      : status === null
        ? `sent no response within ${took} (${failure}${cause === null ? "" : `, ${cause}`})`
        : `returned ${status} after ${took}${quoted}`;
  return `${deployment} ${what}. ${nextSteps[left]}`.trimEnd();
}

/** Removes the final period, to use the sentence inside another one. */
function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

function spanText(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
