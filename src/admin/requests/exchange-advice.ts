import { unknownModelIn } from "../../base/models/unknown-model.ts";
import type { AttemptRecord } from "../../base/requests/attempt.ts";
import { shuttingDown, tookTooLong } from "../../base/requests/gateway-endings.ts";
import type { ListedExchange } from "../../store/store.ts";
import type { KeySummary } from "../keys/key-summary.ts";
import { limitAdvice } from "./limit-advice.ts";

/** What the operator can do, by the code that the client got, where the key does not matter. */
const byCode: Readonly<Record<string, string>> = {
  model_not_found:
    "`sluice models list` shows the models that there are, and which are left out for want of a provider's key.",
  service_unavailable:
    "The provider has more to do than it can; another deployment of the model would take over from it.",
  internal_error: "The log has the cause, under the request's id.",
};

/** The same for the codes that depend on the key. */
const byKey: Readonly<Record<string, (exchange: ListedExchange, key: KeySummary) => string | null>> = {
  rate_limit_exceeded: (_, { prefix, rpm_limit: limit }) =>
    limit === null
      ? "The client can send it again after the time in Retry-After."
      : `The client can send it again after the time in Retry-After. \`sluice keys update ${prefix} --rpm ${2 * limit}\` doubles the key's rate limit.`,
  limit_reached: limitAdvice,
  insufficient_credit: limitAdvice,
  balance_temporarily_reserved: (exchange, key) =>
    `Other requests in flight had reserved the rest, and have ended or will soon. ${limitAdvice(exchange, key)}`,
  key_disabled: (exchange, key) => statusAdvice(key) ?? modelAdvice(exchange, key),
  key_expired: (_, key) => statusAdvice(key),
  invalid_credentials: (_, key) => statusAdvice(key),
};

/** Null for an active key of an account that is not closed. */
function statusAdvice({ status, prefix, account, account_status: accountStatus }: KeySummary): string | null {
  switch (status) {
    case "disabled":
    case "suspended":
      return `\`sluice keys enable ${prefix}\` makes the key active again.`;
    case "expired":
      return `\`sluice keys update ${prefix} --expires 30d\` makes the key valid for another 30 days.`;
    case "revoked":
      return "A revoked key stays revoked: create a new one.";
    case "active":
      return accountStatus === "closed"
        ? `The account ${account} is closed, and stays closed: create another one, and move the key there with \`sluice keys move ${prefix} --account\`.`
        : null;
  }
}

/** What lets the key use the model. */
function modelAdvice(
  { model }: ListedExchange,
  { prefix, models, provider_scope: scope }: KeySummary,
): string | null {
  if (model === "") return null;
  const changes = [
    ...(models === null || models.includes(model) ? [] : [`--models ${[...models, model].join(",")}`]),
    ...(scope === "all" ? [] : ["--provider all"]),
  ];
  return changes.length === 0
    ? `Give ${model} a \`price\`, or \`free = true\`, in the configuration.`
    : `\`sluice keys update ${prefix} ${changes.join(" ")}\` lets the key use ${model}.`;
}

/** What the gateway has ended by itself, whatever the provider was doing. */
const byMessage: Readonly<Record<string, string>> = {
  [shuttingDown]:
    "The client may send it again; `server.shutdown_grace` says how long a stop waits for what is under way.",
  [tookTooLong]:
    "`timeouts` of the provider and `server.request_timeout` say how long it may take; `sluice models check` tries each provider.",
};

/** What an attempt failed for, whatever its status. */
const byFailure: Readonly<Record<string, string>> = {
  expired_certificate:
    "The provider's certificate has expired. The provider must renew it, unless the clock of this machine is wrong.",
  bad_certificate:
    "The provider's certificate is not trusted here; `sluice models check` says why. NODE_EXTRA_CA_CERTS names a file of more authorities.",
  billing:
    "The account that the provider's `api_key` belongs to has no credit left, or has reached its spending limit: see the provider's billing page.",
};

/** What the provider's status says about our account there. */
const byProviderStatus: Readonly<Record<number, string>> = {
  401: "The provider does not accept the credential: check its `api_key`.",
  403: "The provider does not let this credential do that: check the account that its `api_key` belongs to.",
  404: "The provider does not know the model under this name, or the address is wrong: check `upstream_model` and `base_url`.",
  429: "The provider limits the account: ask it for more, or add another deployment.",
};

const unreached =
  "Check the provider's `base_url` and the network between; `sluice models check` tries each provider.";
const nobodyAsked =
  "Nothing was wrong with the request. The failures just before it tell what the provider said, if one stood in the way.";

/** The vendor may have it, and the catalog not. */
function lineToAdd(model: string): string {
  return `If a provider has it, add [[models]] with id = "${model}", its provider and its price; \`sluice models discover\` lists what each provider has.`;
}

/** Null if there is nothing to do, or nothing known that would help. */
export function adviceFor(
  exchange: ListedExchange,
  attempts: readonly AttemptRecord[],
  key: KeySummary | null,
): string | null {
  const { outcome, code, message } = exchange;
  if (outcome !== "rejected" && outcome !== "failed") return null;
  const own = byMessage[message ?? ""];
  if (own !== undefined) return own;
  const last = attempts.at(-1);
  if (last !== undefined && outcome === "failed") {
    const byStatus = last.status === null ? unreached : byProviderStatus[last.status];
    const advice = byFailure[last.failure ?? ""] ?? byStatus;
    if (advice !== undefined) return advice;
  }
  if (code === "service_unavailable" && last === undefined) return nobodyAsked;
  if (code === null) return null;
  const unknown = code === "model_not_found" ? unknownModelIn(message) : null;
  if (unknown !== null) return `${byCode["model_not_found"]} ${lineToAdd(unknown)}`;
  return (key !== null && byKey[code]?.(exchange, key)) || (byCode[code] ?? null);
}
