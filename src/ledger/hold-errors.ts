import { type ErrorDetails, GatewayError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { BoundState, DeniedBy } from "../base/money/bound.ts";
import { creditsFromNano, maxCredits, maxDebtNano, unaffordableNano } from "../base/money/money.ts";
import { tagPrefix } from "../base/requests/labels.ts";
import { billedUnit, plural } from "../base/text/plural.ts";
import type { DeniedVerdict } from "../store/node.ts";
import type { KeyMode, KeyRecord } from "../store/store.ts";

/** Too little for this request. A smaller request may fit, as long as it costs less than the balance. */
export class TooLittle extends GatewayError {
  /** The balance, reserved amounts included. */
  readonly balance: number;

  constructor(
    code: "insufficient_credit" | "balance_temporarily_reserved",
    message: string,
    { left }: BoundState,
    details: ErrorDetails,
  ) {
    super(code, message, details);
    this.balance = left;
  }
}

/** A cap counts each value of the label, so that a request without one cannot be counted. */
function labelRequired(label: string): GatewayError {
  const how =
    label === "user"
      ? "an end user: send `user` (`metadata.user_id` on messages), or the header x-sluice-user"
      : `the tag \`${label.slice("tag:".length)}\`: send it in the header x-sluice-tags`;
  return new GatewayError("invalid_request", `A cap of this key counts spend by ${how}.`, {
    param: label === "user" ? "user" : "x-sluice-tags",
  });
}

/** The error for a request that a limit denies: which limit, how much of it is used, and when it resets. */
export function limitError(
  { denial, state }: DeniedBy,
  mode: KeyMode,
  needed: number,
  nowMs: number,
): GatewayError {
  const vendor = { details: detailsOf(state, mode) };
  const denied = { bound: state.bound, needed, stepDown: state.stepDown };
  switch (denial) {
    case "used_up":
      return usedUp(state, mode, nowMs, { vendor, denied });
    case "too_little":
      return new TooLittle("insufficient_credit", tooLittle(state, mode, needed), state, {
        vendor,
        denied,
      });
    case "reserved":
      return new TooLittle("balance_temporarily_reserved", reserved(state, mode), state, {
        vendor,
        denied,
        retryAfterSeconds: 1,
      });
  }
}

/** Five fields, equal for every kind of limit, in credits or tokens; and of a cap by value the value. */
function detailsOf({ bound, period, limit, used, resetsAtMs, value }: BoundState, mode: KeyMode): JsonObject {
  return {
    bound,
    period,
    limit: limit === null ? null : shown(limit, mode),
    used: shown(used, mode),
    resets_at: resetsAtMs === null ? null : moment(resetsAtMs),
    ...(value !== undefined && { value }),
  };
}

/** A limit that never resets is like spent credit: waiting does not help. */
function usedUp(state: BoundState, mode: KeyMode, nowMs: number, details: ErrorDetails): GatewayError {
  const { resetsAtMs } = state;
  if (resetsAtMs === null) {
    return new GatewayError(
      "insufficient_credit",
      "This key's token budget is used up and does not reset. Ask the operator to raise it.",
      details,
    );
  }
  const limit = state.bound === "budget" ? "This key has used up its token budget" : reachedCap(state, mode);
  const resets = `It resets at ${moment(resetsAtMs)}.`;
  const message =
    state.maxValues === undefined
      ? `${limit} (${amountText(state.used, mode)} used). ${resets}`
      : `${withoutPlace(state)}. ${resets} Ask the operator to count more (\`--values\`).`;
  return new GatewayError("limit_reached", message, {
    ...details,
    retryAfterSeconds: Math.max(1, Math.ceil((resetsAtMs - nowMs) / 1000)),
  });
}

function tooLittle(state: BoundState, mode: KeyMode, needed: number): string {
  const left = shown(state.left, mode);
  const [what, amount] =
    mode === "credit" ? ["cost", `${atMost(needed)} credits`] : ["use", `up to ${needed} tokens`];
  const begin = `This request could ${what} ${amount}`;
  if (state.isPostpaid) return tooMuchOwed(begin, state);
  if (isCap(state)) {
    const resets = state.resetsAtMs === null ? "" : ` (resets at ${moment(state.resetsAtMs)})`;
    return `${begin}, but only ${left} of ${whose(state)}'s ${capText(state, mode)} are left${resets}. Lower \`max_tokens\`, or ask the operator to raise the cap.`;
  }
  const [rest, more] =
    mode === "credit"
      ? [`${left} are left`, "top up the key"]
      : [`${left} of this period's budget are left`, "raise the budget"];
  return `${begin}, but only ${rest}. Lower \`max_tokens\`, or ask the operator to ${more}.`;
}

function tooMuchOwed(begin: string, { left }: BoundState): string {
  const owed = creditsFromNano(Math.max(0, maxDebtNano - left));
  return `${begin}, but this account owes ${owed} of at most ${maxCredits} credits. Ask the operator to record a payment.`;
}

function reserved(state: BoundState, mode: KeyMode): string {
  const what = isCap(state)
    ? `rest of ${whose(state)}'s ${capText(state, mode)}`
    : `remaining ${mode === "credit" ? "balance" : "token budget"}`;
  return `The ${what} is reserved by other requests in progress. Retry when one of them finishes.`;
}

function isCap({ bound }: BoundState): boolean {
  return bound !== "balance" && bound !== "budget";
}

const owners: Readonly<Partial<Record<BoundState["bound"], string>>> = {
  key_cap: "this key",
  account_cap: "this account",
  owner_cap: "this key's owner",
  user_cap: "this end user",
};

function whose({ bound, value, label = "" }: BoundState): string {
  if (value === null) return "requests without a label";
  if (bound === "tag_cap") return `the tag ${label.replace(tagPrefix, "")}=${value}`;
  return owners[bound] ?? "this key";
}

const countedNouns: Readonly<Partial<Record<BoundState["bound"], string>>> = {
  owner_cap: "owner",
  user_cap: "end user",
};

function withoutPlace({ bound, maxValues = 0, period }: BoundState): string {
  const values = plural(maxValues, countedNouns[bound] ?? "value");
  return `A cap counts at most ${values} per ${period}, and this one is not among them`;
}

/** How many values the cap counts, if it had no place for another one; null if the message is about something else. */
export function countedValuesIn(message: string | null): number | null {
  const [, count] = /^A cap counts at most (\d+) /.exec(message ?? "") ?? [];
  return count === undefined ? null : Number(count);
}

/** E.g. `5 credits per day for claude-opus-*`. */
function capText({ limit, period, models }: BoundState, mode: KeyMode): string {
  const amount = shown(limit ?? 0, mode);
  return `${amount} ${billedUnit(mode, amount)} per ${period}${models === null ? "" : ` for ${models}`}`;
}

function reachedCap(state: BoundState, mode: KeyMode): string {
  const subject = whose(state);
  const verb = state.value === null ? "have reached their" : "has reached its";
  return `${subject.charAt(0).toUpperCase()}${subject.slice(1)} ${verb} cap of ${capText(state, mode)}`;
}

function shown(amount: number, mode: KeyMode): number {
  return mode === "credit" ? creditsFromNano(amount) : amount;
}

function amountText(amount: number, mode: KeyMode): string {
  if (mode !== "credit") return String(amount);
  const credits = creditsFromNano(amount);
  const text = credits.toFixed(2);
  return Number(text) === credits ? text : String(credits);
}

function atMost(needed: number): string {
  return needed === unaffordableNano ? `more than ${maxCredits}` : `up to ${creditsFromNano(needed)}`;
}

/** Periods begin on whole seconds. */
function moment(atMs: number): string {
  return new Date(atMs).toISOString().replace(".000Z", "Z");
}

export function journalUnavailable(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "The gateway cannot record charges, so it accepts no requests. Retry in 5 s.",
    { retryAfterSeconds: 5 },
  );
}

/** The charge was decided and sent to the store, which cannot tell whether it will be stored. */
export function chargeUncertain(
  code: "internal_error" | "service_unavailable",
  cause: unknown,
): GatewayError {
  return new GatewayError(
    code,
    "The gateway could not confirm that the charge for this request was stored, so it withholds the response. The request " +
      "may still be charged: check `used` in GET /v1/usage before you retry.",
    { cause },
  );
}

/** `limit` is null if it was changed a moment ago. */
function tooManyInFlight(limit: number | null): GatewayError {
  const all = limit === null ? "its maximum of requests" : `its maximum of ${plural(limit, "request")}`;
  return new GatewayError(
    "rate_limit_exceeded",
    `This key has ${all} in progress. Retry when one of them finishes.`,
    { retryAfterSeconds: 1 },
  );
}

/** What the client gets if its key cannot be used. */
export const unusableKeys = {
  disabled: ["key_disabled", "The API key is disabled. Ask the operator to enable it."],
  closed: ["key_disabled", "The account of this API key is closed. Ask the operator for another key."],
  expired: ["key_expired", "The API key has expired. Ask the operator to extend it, or for a new one."],
  suspended: ["invalid_credentials", "The API key is suspended. Ask the operator to enable it."],
  revoked: ["invalid_credentials", "The API key has been revoked. Ask the operator for a new one."],
  unknown_key: [
    "invalid_credentials",
    "The API key is not valid. Check that all of it was copied, and that this is the gateway that issued it.",
  ],
} as const;

/** The key was changed after this gateway last read it; the database is right. */
function unusableKey(status: keyof typeof unusableKeys): GatewayError {
  const [code, message] = unusableKeys[status];
  return new GatewayError(code, message);
}

export function holdError(
  verdict: DeniedVerdict,
  { mode, maxConcurrent }: Pick<KeyRecord, "mode" | "maxConcurrent">,
  amount: number,
  nowMs: number,
): GatewayError {
  if ("state" in verdict) {
    return limitError({ denial: verdict.decision, state: verdict.state }, mode, amount, nowMs);
  }
  if ("label" in verdict) return labelRequired(verdict.label);
  if (verdict.decision === "gone") return journalUnavailable();
  return verdict.decision === "too_many" ? tooManyInFlight(maxConcurrent) : unusableKey(verdict.decision);
}
