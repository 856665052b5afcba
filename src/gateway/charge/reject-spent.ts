import { GatewayError } from "../../base/errors.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import type { BoundKind } from "../../base/money/bound.ts";
import { type HoldTokens, holdAmount } from "../../catalog/price.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { idempotencyKeyOf } from "../exchange/claims.ts";
import { isPayable } from "../request/model.ts";

/** Limits on all that a key does. Others depend on the request. */
const wholeKeyBounds = new Set<string>([
  "balance",
  "budget",
  "key_cap",
  "account_cap",
] satisfies readonly BoundKind[]);

/**
 * Rejects a key that can pay for nothing before its body is read: what the body asks for, and its price, are not known yet. A model
 * may be free, and so may a retry of what has run.
 */
export async function rejectSpent(call: AdmittedCall, use: ModelUse): Promise<void> {
  const { gateway, exchange, key } = call;
  const { accounts } = gateway;
  if (!accounts.mayBeSpent(key.id) || idempotencyKeyOf(exchange.call) !== null) return;
  const smallest = { keyId: key.id, exchangeId: exchange.id, model: "", amount: 1 };
  try {
    accounts.release(await accounts.hold({ ...smallest, requestedModel: null, labels: null }));
  } catch (error) {
    if (error instanceof GatewayError && isSpent(error) && !hasFreeModel(call, use))
      throw withoutAmount(error);
  }
}

function isSpent({ code, denied }: GatewayError): boolean {
  if (denied === undefined || !wholeKeyBounds.has(denied.bound)) return false;
  return code === "insufficient_credit" || code === "limit_reached";
}

const oneToken: HoldTokens = { input: 1, output: 1 };

function hasFreeModel({ configured, exchange, key }: AdmittedCall, use: ModelUse): boolean {
  const { catalog, settings } = configured;
  // A generation always counts in a token budget.
  if (key.mode === "token_budget" && use === "generation") return false;
  return catalog.modelsFor(key).some((model) => {
    if (!model.serves.includes(use) || !isPayable(model)) return false;
    const price = catalog.holdPrice(model, exchange.pricedAtMs);
    if (model.free || price === null) return true;
    // Tools and the like are optional in a generation. Elsewhere what is no token is what is paid for.
    const hasUnits = use !== "generation" && Object.values(price.extras ?? {}).some((each) => each > 0);
    return !hasUnits && holdAmount(key.mode, oneToken, price, settings.microUsdPerCredit) === 0;
  });
}

/** For a balance, the message would name the smallest amount, which is not what the client requested. */
function withoutAmount(error: GatewayError): GatewayError {
  if (error.denied?.bound !== "balance") return error;
  return error.reworded("This key has no credit left. Ask the operator to top it up.");
}
