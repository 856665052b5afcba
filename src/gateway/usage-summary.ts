import { assert } from "../base/assert.ts";
import { creditsFromNano } from "../base/money.ts";
import { effectiveStatus } from "../keys/status.ts";
import type { AccountSummary } from "../ledger/accounts.ts";
import type { KeyRecord } from "../store/store.ts";
import { admit } from "./admission/admit.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { commonHeaders, creditsText } from "./headers.ts";
import { usageSchemas } from "./schemas/usage.ts";
import {
  balanceHeaders,
  freeOfCharge,
  rateHeaders,
  readingCodes,
  type ServedOperation,
} from "./served-operation.ts";

export const usageOperation: ServedOperation = {
  method: "GET",
  path: "/v1/usage",
  errors: "openai",
  acceptsApiKeyHeader: false,
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

const periodWords = { day: "today", week: "this week", month: "this month", none: "in all" } as const;

/** In constant time, however long the history is. */
async function summarizeUsage(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const key = await admit(gateway, exchange);
  const [summary] = await gateway.accounts.summaries([key.id]);
  assert(summary !== undefined, "every key has an account");
  const headers = commonHeaders(exchange);
  if (key.mode === "credit") headers["x-service-credit-remaining"] = creditsText(summary.available);
  else if (summary.budgetRemaining !== null)
    headers["x-ratelimit-remaining-tokens"] = String(summary.budgetRemaining);
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
    credits: creditUsage(summary, exchange.configured.settings.microUsdPerCredit),
    tokens: tokenUsage(summary),
    requests: { total: summary.requests },
    explanation: explain(key, summary),
  };
  return Response.json(body, { headers });
}

/** All zeros for a token-budget key, whose summary has no money in it. */
function creditUsage(summary: AccountSummary, microUsdPerCredit: number) {
  return {
    total_purchased: creditsFromNano(summary.exact.purchased),
    balance: creditsFromNano(summary.posted),
    reserved: creditsFromNano(summary.held),
    used: creditsFromNano(summary.exact.used),
    remaining: creditsFromNano(summary.available),
    remaining_usd: (creditsFromNano(summary.available) * microUsdPerCredit) / 1_000_000,
    last_request_cost: creditsFromNano(summary.lastCostNano),
    today_spend: creditsFromNano(summary.exact.todaySpend),
    lifetime_spend: creditsFromNano(summary.exact.used),
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

function explain(key: KeyRecord, summary: AccountSummary): string {
  if (key.mode === "credit") {
    return `${creditsText(summary.available)} of ${creditsText(summary.purchased)} credits remain${reservedPart(summary.held, creditsText(summary.held))}.`;
  }
  if (key.budgetTokens === null)
    return "This key has no token budget, so its tokens are counted but not limited.";
  return `${summary.budgetRemaining} of ${key.budgetTokens} tokens remain ${periodWords[key.period]}${reservedPart(summary.budgetHeld, String(summary.budgetHeld))}.`;
}

function reservedPart(held: number, text: string): string {
  return held === 0 ? "" : `; ${text} more are reserved by requests in flight`;
}
