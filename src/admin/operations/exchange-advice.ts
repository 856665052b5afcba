import type { AttemptRecord } from "../../base/attempt.ts";
import { shuttingDown, tookTooLong } from "../../base/gateway-endings.ts";
import type { KeyMode, ListedExchange } from "../../store/store.ts";

/** What the operator can do, by the code that the client got. */
const byCode: Readonly<Record<string, string>> = {
  rate_limit_exceeded:
    "The client should wait as Retry-After says; `sluice keys update K --rpm N` raises the key's limit.",
  limit_reached: "The budget starts anew with its next period; `sluice keys update K --budget N` raises it.",
  balance_temporarily_reserved:
    "Other open requests of the key hold its balance; the same request may be sent again.",
  model_not_found:
    "`sluice models list` shows the models that there are, and which are left out for want of a provider's key.",
  key_disabled:
    "`sluice keys enable K` enables a disabled key; `sluice keys update K --scope P --models a,b` says what a key may use.",
  key_expired: "`sluice keys update K --expires 30d` revives the key.",
  invalid_credentials: "`sluice keys show K` tells how the key stands and at which address it works.",
  service_unavailable:
    "The provider has more to do than it can; another deployment of the model would take over from it.",
  internal_error: "The log has the cause, under the request's id.",
};

/** What the gateway has ended by itself, whatever the provider was doing. */
const byMessage: Readonly<Record<string, string>> = {
  [shuttingDown]:
    "The client may send it again; `server.shutdown_grace` says how long a stop waits for what is under way.",
  [tookTooLong]:
    "`timeouts` of the provider and `server.max_exchange` say how long it may take; `sluice models check` tries each provider.",
};

/** What an attempt failed for, whatever its status. */
const byFailure: Readonly<Record<string, string>> = {
  expired_certificate:
    "The provider's certificate has expired: whoever runs it has to renew it, unless the clock of this machine is wrong.",
  bad_certificate:
    "The provider's certificate is not trusted here; `sluice models check` says why. NODE_EXTRA_CA_CERTS names a file of more authorities.",
  unpaid:
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
const moreCredit =
  "`sluice keys topup K N` adds credit; a smaller `max_tokens` makes the request need less of it.";
const moreBudget =
  "`sluice keys update K --budget N` raises the budget; a smaller `max_tokens` makes the request need less of it.";
const nobodyAsked =
  "Nothing was wrong with the request. The failures just before it tell what the provider said, if one stood in the way.";

/** Null if there is nothing to do, or nothing known that would help. */
export function adviceFor(
  { outcome, code, message }: ListedExchange,
  attempts: readonly AttemptRecord[],
  mode: KeyMode,
): string | null {
  if (outcome !== "refused" && outcome !== "failed") return null;
  const own = byMessage[message ?? ""];
  if (own !== undefined) return own;
  const last = attempts.at(-1);
  if (last !== undefined && outcome === "failed") {
    const byStatus = last.status === null ? unreached : byProviderStatus[last.status];
    const advice = byFailure[last.failure ?? ""] ?? byStatus;
    if (advice !== undefined) return advice;
  }
  if (code === "insufficient_credit") return mode === "credit" ? moreCredit : moreBudget;
  if (code === "service_unavailable" && last === undefined) return nobodyAsked;
  return (code !== null && byCode[code]) || null;
}
