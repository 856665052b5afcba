import { assert } from "../../base/assert.ts";
import { creditsFromNano, usdFromNano } from "../../base/money/money.ts";
import { ownAccountId } from "../../base/own-account.ts";
import { plainErrors } from "../../dialects/registry.ts";
import { effectiveStatus } from "../../keys/keyring.ts";
import type { AccountSummary, BoundState } from "../../ledger/accounts.ts";
import { knownBounds } from "../../ledger/bound-value-caps.ts";
import type { KeyRecord } from "../../store/store.ts";
import { admit } from "../admission/admit.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import {
  balanceHeaders,
  freeOfCharge,
  rateHeaders,
  readingCodes,
  type ServedOperation,
} from "../exchange/served-operation.ts";
import { commonHeaders, creditsText } from "../response/headers.ts";
import { usageSchemas } from "./usage-schema.ts";

export const usageOperation: ServedOperation = {
  method: "GET",
  path: "/v1/usage",
  errors: plainErrors,
  keyHeader: null,
  ...freeOfCharge,
  needsKey: true,
  codes: readingCodes,
  headers: [...rateHeaders, ...balanceHeaders],
  description: {
    operationId: "getUsage",
    summary: "Usage summary of the calling key",
    response: "UsageSummary",
    schemas: usageSchemas,
  },
  run: summarizeUsage,
};

const periodText = { day: "today", week: "this week", month: "this month", none: "in all" } as const;

/** Takes constant time, with any length of history. */
async function summarizeUsage(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { key } = await admit(gateway, exchange);
  const [funds] = await gateway.accounts.summaries([key.id]);
  assert(funds !== undefined, "every key has an account");
  const byValue = await knownBounds(gateway.capReads, key, gateway.clock.wallMs());
  const summary = { ...funds, caps: [...funds.caps, ...byValue] };
  const headers = commonHeaders(exchange);
  if (key.mode === "credit") {
    headers["x-service-credit-remaining"] = creditsText(creditStanding(summary).remaining);
  } else if (summary.budgetRemaining !== null)
    headers["x-ratelimit-remaining-tokens"] = String(summary.budgetRemaining);
  headers["x-sluice-spendable"] = spendableText(key, summary, exchange.configured.settings.microUsdPerCredit);
  const body = {
    object: "usage.summary",
    key: {
      prefix: key.prefix,
      label: key.label,
      status: effectiveStatus(key, gateway.clock.wallMs()),
      mode: key.mode,
      provider_scope: key.scope,
      rpm_limit: key.rpmLimit,
    },
    credits: creditUsage(summary, creditStanding(summary), exchange.configured.settings.microUsdPerCredit),
    tokens: tokenUsage(summary),
    requests: { total: summary.requests },
    explanation: explain(key, summary),
  };
  return Response.json(body, { headers });
}

/**
 * What one request can reserve now, within balance or budget and every cap: in USD, as models are priced, or in tokens.
 * `connect` chooses a model by it.
 */
function spendableText({ mode }: KeyRecord, summary: AccountSummary, microUsdPerCredit: number): string {
  const cap = tightestCap(summary);
  const own = mode === "credit" ? (summary.isPostpaid ? null : summary.available) : summary.budgetRemaining;
  const limits = [own, cap === null ? null : cap.left - cap.held].filter((left) => left !== null);
  if (limits.length === 0) return "unlimited";
  const least = Math.max(0, Math.min(...limits));
  return mode === "credit" ? `${usdFromNano(least, microUsdPerCredit)} USD` : `${least} tokens`;
}

/** The amounts that can be spent, which add up: balance = purchased − used, remaining = balance − held. */
interface CreditStanding {
  readonly purchased: number | bigint;
  readonly balance: number;
  readonly held: number;
  readonly used: number | bigint;
  readonly remaining: number;
}

/** A postpaid account has no balance, so its numbers come from the tightest cap. Without a cap, everything purchased is used. */
function creditStanding(summary: AccountSummary): CreditStanding {
  const { exact, posted, held, available } = summary;
  if (!summary.isPostpaid || summary.mode !== "credit") {
    return { purchased: exact.purchased, balance: posted, held, used: exact.used, remaining: available };
  }
  const cap = tightestCap(summary);
  if (cap === null) return { purchased: exact.used, balance: 0, held, used: exact.used, remaining: 0 };
  // What is charged above a hold may exceed the cap, and an operator may lower it.
  const purchased = Math.max(cap.limit ?? 0, cap.used);
  const remaining = Math.max(0, cap.left - cap.held);
  return { purchased, balance: cap.left, held: cap.held, used: cap.used, remaining };
}

/** The cap with the least left. */
export function tightestCap({ caps }: Pick<AccountSummary, "caps">): BoundState | null {
  const [tightest] = caps.toSorted((one, other) => one.left - one.held - (other.left - other.held));
  return tightest ?? null;
}

/** All zeros for a token-budget key, whose summary has no money in it. */
function creditUsage(summary: AccountSummary, standing: CreditStanding, microUsdPerCredit: number) {
  return {
    total_purchased: creditsFromNano(standing.purchased),
    balance: creditsFromNano(standing.balance),
    reserved: creditsFromNano(standing.held),
    used: creditsFromNano(standing.used),
    remaining: creditsFromNano(standing.remaining),
    remaining_usd: usdFromNano(standing.remaining, microUsdPerCredit),
    last_request_cost: creditsFromNano(summary.lastCostNano),
    today_spend: creditsFromNano(summary.exact.todaySpend),
    lifetime_spend: creditsFromNano(summary.exact.lifetimeSpend),
  };
}

function tokenUsage(summary: AccountSummary) {
  return {
    budget: summary.budgetTokens,
    used: summary.budgetUsed,
    reserved: summary.budgetHeld,
    remaining: summary.budgetRemaining,
    input: summary.inputTokens,
    output: summary.outputTokens,
    total: summary.totalTokens,
  };
}

/** Up to three sentences: about the account, the tightest cap, and whether the account is shared. */
function explain(key: KeyRecord, summary: AccountSummary): string {
  const cap = tightestCap(summary);
  const isShared = key.accountId !== ownAccountId(key.id);
  return [
    explainAccount(key, summary),
    ...(cap === null ? [] : [explainCap(cap, key.mode)]),
    ...(isShared ? ["The account is shared: spend, requests and tokens are this key's own."] : []),
  ].join(" ");
}

const owners: Readonly<Partial<Record<BoundState["bound"], string>>> = {
  key_cap: "this key",
  account_cap: "the account",
  owner_cap: "the key's owner",
  tag_cap: "the key's tag",
};

function explainCap(
  { bound, period, models, limit, left, held, resetsAtMs }: BoundState,
  mode: KeyRecord["mode"],
) {
  const [amount, unit] = mode === "credit" ? [creditsText, "credits"] : [String, "tokens"];
  const scope = models === null ? "" : ` for ${models}`;
  const resets = resetsAtMs === null ? "" : `, which resets at ${new Date(resetsAtMs).toISOString()}`;
  const free = amount(Math.max(0, left - held));
  return `${free} remain of ${owners[bound]}'s cap of ${amount(limit ?? 0)} ${unit} per ${period}${scope}${resets}.`;
}

function explainAccount(key: KeyRecord, summary: AccountSummary): string {
  if (key.mode === "credit" && summary.isPostpaid) {
    return `The account is postpaid; ${creditsText(summary.lifetimeSpend)} credits spent with this key.`;
  }
  if (key.mode === "credit") {
    return `${creditsText(summary.available)} of ${creditsText(summary.purchased)} credits remain${reservedPart(summary.held, creditsText(summary.held))}.`;
  }
  if (summary.budgetTokens === null)
    return "This key has no token budget, so its tokens are counted but not limited.";
  return `${summary.budgetRemaining} of ${summary.budgetTokens} tokens remain ${periodText[key.period]}${reservedPart(summary.budgetHeld, String(summary.budgetHeld))}.`;
}

function reservedPart(held: number, text: string): string {
  return held === 0 ? "" : `; ${text} more are reserved by requests in flight`;
}
