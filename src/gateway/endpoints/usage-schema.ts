import { Type } from "@sinclair/typebox";

/** Interface 2.12. */

const closed = { additionalProperties: false };
const count = Type.Integer({ minimum: 0 });
const countOrNull = Type.Union([count, Type.Null()]);

const usageKey = Type.Object(
  {
    prefix: Type.String({ description: "Non-secret key prefix." }),
    label: Type.Union([Type.String(), Type.Null()]),
    status: Type.String({ description: "active, disabled, suspended, revoked or expired." }),
    mode: Type.Union([Type.Literal("credit"), Type.Literal("token_budget")]),
    provider_scope: Type.String({ description: "A provider's name, or `all`." }),
    rpm_limit: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
        description: "Requests-per-minute limit of the key.",
      }),
    ),
  },
  closed,
);

const creditUsage = Type.Object(
  {
    total_purchased: Type.Number(),
    balance: Type.Number({ description: "total_purchased - used" }),
    reserved: Type.Number({ description: "Set aside for requests that are in flight." }),
    used: Type.Number(),
    remaining: Type.Number({ description: "balance - reserved" }),
    remaining_usd: Type.Number(),
    last_request_cost: Type.Number(),
    today_spend: Type.Number({ description: "Since the start of the UTC day." }),
    lifetime_spend: Type.Number(),
  },
  closed,
);

const tokenUsage = Type.Object(
  {
    budget: countOrNull,
    used: count,
    reserved: count,
    remaining: countOrNull,
    input: count,
    output: count,
    total: count,
  },
  closed,
);

export const usageSummary = Type.Object(
  {
    object: Type.Literal("usage.summary"),
    key: usageKey,
    credits: creditUsage,
    tokens: tokenUsage,
    requests: Type.Object({ total: count }, closed),
    explanation: Type.String({ description: "One plain sentence about the key's standing now." }),
  },
  closed,
);

export const usageSchemas = {
  UsageKey: usageKey,
  CreditUsage: creditUsage,
  TokenUsage: tokenUsage,
  UsageSummary: usageSummary,
};
