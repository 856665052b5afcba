import { coversModel } from "../../base/models/model-pattern.ts";
import { unknownModelIn } from "../../base/models/unknown-model.ts";
import type { BoundKind } from "../../base/money/bound.ts";
import { unaffordableNano } from "../../base/money/money.ts";
import { ownAccountId } from "../../base/own-account.ts";
import type { AttemptRecord } from "../../base/requests/attempt.ts";
import { shuttingDown, tookTooLong } from "../../base/requests/gateway-endings.ts";
import { shellWord } from "../../base/text/shell-word.ts";
import type { Settings } from "../../config/settings.ts";
import { countedValuesIn } from "../../ledger/hold-errors.ts";
import { boundOf, labelValue, maxCountedValues } from "../../ledger/value-caps.ts";
import type { KeyMode, ListedExchange } from "../../store/store.ts";
import { capName } from "../key-terms/cap-text.ts";
import type { CapView, KeyView } from "../key-terms/schema.ts";

/** Advice by error code, if it does not depend on the key. */
const byCode: Readonly<Record<string, string>> = {
  model_not_found:
    "`sluice models list` shows the served models and those skipped because a provider's key is missing.",
  service_unavailable: "The provider is overloaded. Add a second deployment of the model to fail over to.",
  internal_error: "The gateway's log has the cause under this request id.",
};

/** Advice for the codes that depend on the key. */
const byKey: Readonly<Record<string, (exchange: ListedExchange, key: KeyView) => string | null>> = {
  rate_limit_exceeded: (_, { prefix, rpm_limit: limit }) =>
    limit === null
      ? "The client can retry after the time in `Retry-After`."
      : `The client can retry after the time in \`Retry-After\`. \`sluice keys update ${prefix} --rpm ${2 * limit}\` doubles the key's rate limit.`,
  limit_reached: limitAdvice,
  insufficient_credit: limitAdvice,
  balance_temporarily_reserved: (exchange, key) =>
    `Other requests in progress had reserved the rest. Retry once they finish. ${limitAdvice(exchange, key)}`,
  key_disabled: (exchange, key) => statusAdvice(key) ?? modelAdvice(exchange, key),
  key_expired: (_, key) => statusAdvice(key),
  invalid_credentials: (_, key) => statusAdvice(key),
};

/** Null for an active key of an account that is not closed. */
function statusAdvice({ status, prefix, account, account_status: accountStatus }: KeyView): string | null {
  switch (status) {
    case "disabled":
    case "suspended":
      return `\`sluice keys enable ${prefix}\` makes the key active again.`;
    case "expired":
      return `\`sluice keys update ${prefix} --expires 30d\` makes the key valid for another 30 days.`;
    case "revoked":
      return "A revoked key cannot be enabled again. Create a new one.";
    case "active":
      return accountStatus === "closed"
        ? `The account ${account} is permanently closed. Create a new account and move the key there with \`sluice keys move ${prefix} --account\`.`
        : null;
  }
}

/** Advice on how to let the key use the model. */
function modelAdvice(
  { model }: ListedExchange,
  { prefix, models, provider_scope: scope }: KeyView,
): string | null {
  if (model === "") return null;
  const changes = [
    ...(models === null || models.includes(model) ? [] : [`--models ${[...models, model].join(",")}`]),
    ...(scope === "all" ? [] : ["--provider all"]),
  ];
  return changes.length === 0
    ? `Set a \`price\` or \`free = true\` for ${model} in the configuration.`
    : `\`sluice keys update ${prefix} ${changes.join(" ")}\` lets the key use ${model}.`;
}

/** Advice for requests that the gateway itself ended, by their message. */
const byMessage: Readonly<Record<string, string>> = {
  [shuttingDown]:
    "The client can retry. `server.shutdown_grace` sets how long a shutdown waits for requests in progress.",
  [tookTooLong]:
    "The provider's `timeouts` and `server.request_timeout` set the limits. `sluice models check` calls each provider.",
};

/** Advice by the kind of a failed attempt, whatever its status. */
const byFailure: Readonly<Record<string, string>> = {
  expired_certificate:
    "The provider's certificate has expired. The provider must renew it; if not, check this machine's clock.",
  bad_certificate:
    "The provider's certificate is not trusted; `sluice models check` shows why. To trust the authority that issued it, set NODE_EXTRA_CA_CERTS to its certificate file.",
  billing:
    "The provider account is out of credit or over its spending limit. See the provider's billing page.",
};

/** Advice by the provider's status, about the operator's account there. */
const byProviderStatus: Readonly<Record<number, string>> = {
  401: "The provider rejected the credential. Check its `api_key`.",
  403: "The provider's account does not permit this request. Check the permissions of its `api_key`.",
  404: "The provider does not know this model, or the URL is wrong. Check `upstream_model` and `base_url`.",
  429: "The provider rate limits the account. Request a higher limit, or add a second deployment.",
};

const unreached =
  "Check the provider's `base_url` and the network. `sluice models check` calls each provider.";
const noProviderCalled =
  "The request itself was valid. See the failures just before it for the provider's error.";

const otherDeploymentsTried =
  "The other deployments of the model failed, too. Lower the load, or ask a provider for a higher limit.";

/** Whether failing over, which is the advice for a provider without capacity, has already been tried. */
function hasFailedOver(attempts: readonly AttemptRecord[]): boolean {
  return new Set(attempts.map(({ deployment }) => deployment)).size > 1;
}

/** Null if nothing can or needs to be done. */
export function adviceFor(
  exchange: ListedExchange,
  attempts: readonly AttemptRecord[],
  key: KeyView | null,
  { unpricedModels }: Settings,
): string | null {
  const { outcome, code, message } = exchange;
  if (outcome !== "rejected" && outcome !== "failed") return null;
  const own = byMessage[message ?? ""];
  if (own !== undefined) return own;
  const last = attempts.at(-1);
  if (last !== undefined && outcome === "failed") {
    const byStatus = last.status === null ? unreached : byProviderStatus[last.status];
    const isFull = last.status === 429 || code === "service_unavailable";
    const advice =
      isFull && hasFailedOver(attempts) ? otherDeploymentsTried : (byFailure[last.failure ?? ""] ?? byStatus);
    if (advice !== undefined) return advice;
  }
  if (code === "service_unavailable" && last === undefined) return noProviderCalled;
  if (code === null) return null;
  const unknown = code === "model_not_found" ? unknownModelIn(message) : null;
  if (unknown !== null) return `${byCode["model_not_found"]} ${unpricedModels.advice(unknown)}`;
  return (key !== null && byKey[code]?.(exchange, key)) || (byCode[code] ?? null);
}

type DeniedExchange = Pick<
  ListedExchange,
  "exchangeId" | "model" | "needed" | "bound" | "labels" | "message"
>;

/**
 * How to let a denied request through: a command for each limit that has too little left now. The client's error names
 * only one of them.
 */
function limitAdvice(exchange: DeniedExchange, key: KeyView): string {
  const countedValues = countedValuesIn(exchange.message);
  if (countedValues !== null) return valuesAdvice(exchange, key, countedValues);
  const needed = exchange.needed ?? 1;
  const outputLimit = /Lower (`[^`]+`)/.exec(exchange.message ?? "")?.[1] ?? "`max_tokens`";
  if (needed >= unaffordableNano) return `No balance is large enough; lower ${outputLimit}.`;
  const commands = commandsFor(key, { ...exchange, needed });
  if (commands.length === 0 && valueBounds.has(exchange.bound ?? ""))
    return "`sluice caps list --near 80%` lists the values that have used most of a cap.";
  if (commands.length === 0) return "The limits now allow it: retry.";
  return `To let it through: ${commands.map((each) => `\`${each}\``).join(" and ")}. A lower ${outputLimit} needs less.`;
}

function commandsFor(key: KeyView, denied: DeniedExchange & { readonly needed: number }): string[] {
  const { needed, model, exchangeId } = denied;
  const unit = unitOf(key.mode);
  const isTooLow = (cap: CapView) => coversModel(cap.models, model) && missing(cap, needed, unit) > 0;
  const keyCommands = key.caps.filter(isTooLow).map((cap) => {
    const amount = shown(missing(cap, needed, unit), key.mode);
    return `sluice keys raise-cap ${key.prefix} ${amount} --cap ${shellWord(capName(cap))} --note ${exchangeId}`;
  });
  return [
    ...fundsCommands(key, needed),
    ...raisedAccountCaps(key, needed, isTooLow),
    ...keyCommands,
    ...raisedValues(key, denied),
  ];
}

const valueBounds: ReadonlySet<string> = new Set<BoundKind>(["owner_cap", "user_cap", "tag_cap"]);

/** A raise does not help: it adds to a limit, but counts no further value. */
function valuesAdvice(
  { bound, model }: DeniedExchange,
  { value_caps: caps }: KeyView,
  counted: number,
): string {
  if (counted >= maxCountedValues)
    return `No cap counts more than ${maxCountedValues} values. Wait for the reset, or limit fewer values.`;
  const full = caps.filter(({ label, models }) => boundOf(label) === bound && coversModel(models, model));
  const commands = full.map(
    ({ cap }) => `\`sluice caps update ${cap} --values ${Math.min(2 * counted, maxCountedValues)}\``,
  );
  return commands.length === 0
    ? "The limits now allow it: retry."
    : `To let it through: ${commands.join(" or ")}.`;
}

/** Each request has its own value of such a cap, so all that is known is that the cap denied this request. */
function raisedValues(
  { mode, value_caps: caps }: KeyView,
  { exchangeId, model, bound, labels, needed }: DeniedExchange & { readonly needed: number },
): string[] {
  return caps.flatMap(({ cap, label, value: own, limit, used, models }) => {
    if (!coversModel(models, model)) return [];
    const isDenying = bound === boundOf(label);
    const amount = used === null ? (isDenying ? needed : 0) : missing({ used, limit }, needed, unitOf(mode));
    if (amount <= 0) return [];
    const value = own ?? labelValue(label, labels);
    // Clients choose the names of end users.
    const whose = value === null ? "" : ` --value ${shellWord(value)}`;
    return [`sluice caps raise ${cap} ${shown(amount, mode)}${whose} --note ${exchangeId}`];
  });
}

/** Nano-credits per credit; 1 for tokens. */
function unitOf(mode: KeyMode): number {
  return mode === "credit" ? 1e9 : 1;
}

function missing({ used, limit }: Pick<CapView, "used" | "limit">, needed: number, unit: number): number {
  return needed + Math.round((used - limit) * unit);
}

/** Commands that raise the balance or budget of the key's account, shared or not. */
function fundsCommands(key: KeyView, needed: number): string[] {
  const { credit, budget, mode } = key;
  const isOwn = key.account === ownAccountId(key.id);
  const [noun, name] = isOwn ? ["keys", key.prefix] : ["accounts", key.account];
  if (credit !== null) {
    const missingNano = needed - Math.round(credit.balance * 1e9);
    return key.postpaid || missingNano <= 0
      ? []
      : [`sluice ${noun} topup ${name} ${shown(missingNano, mode)}`];
  }
  if (budget === null || budget.tokens === null || budget.used + needed <= budget.tokens) return [];
  return [`sluice ${noun} update ${name} --budget ${budget.used + needed}`];
}

/** One command sets all caps of an account. */
function raisedAccountCaps(key: KeyView, needed: number, isTooLow: (cap: CapView) => boolean): string[] {
  const { account, account_caps: caps, mode } = key;
  if (!caps.some(isTooLow)) return [];
  const unit = unitOf(mode);
  const options = caps.map((cap) => {
    const unchanged = (cap.limit - cap.raised_by).toFixed(9).replace(/\.?0+$/, "");
    const amount = isTooLow(cap) ? shown(Math.round(cap.used * unit) + needed, mode) : unchanged;
    return `--cap ${shellWord(`${amount}/${capName(cap)}`)}`;
  });
  return [`sluice accounts update ${account} ${options.join(" ")}`];
}

/** Tokens, or credits rounded up to four decimals. */
function shown(amount: number, mode: KeyMode): string {
  if (mode !== "credit") return String(amount);
  return (Math.ceil(amount / 100_000) / 10_000).toFixed(4).replace(/\.?0+$/, "");
}
