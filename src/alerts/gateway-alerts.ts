import { msPerDay } from "../base/clock.ts";
import { plural } from "../base/text/plural.ts";
import { size } from "../base/text/size.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { hasChangedOnDisk } from "../config/source.ts";
import type { TracingProblem } from "../observe/span-outbox.ts";
import type { LedgerDamage, StoreProblem } from "../store/store.ts";
import type { DeploymentHealth, SlowCalls } from "../upstream/upstream.ts";
import { type Alert, unsetAlertFields } from "./alert.ts";
import type { DiskSpace } from "./disk-watch.ts";
import type { UnavailableModel } from "./model-outcomes.ts";

/** State that only a running gateway knows. */
export interface GatewayState {
  settings(): Settings;
  deploymentHealth(): readonly DeploymentHealth[];
  /** Why the gateway rejects requests; null while it accepts them. */
  problem(): StoreProblem | null;
  /** Requests that were not recorded since the start, if some were lost just now; else null. */
  droppedContent?(): number | null;
  /** Damage of the ledger's files; null while none is known. */
  ledgerDamage?(): LedgerDamage | null;
  /** Why traces do not arrive; null while they do. */
  tracingProblem?(): TracingProblem | null;
  /** Why the ledger's feed does not reach its receiver; null while it does. */
  feedProblem?(nowMs: number): FeedProblem | null;
  /** Models none of whose requests succeeds. */
  unavailableModels?(nowMs: number): readonly UnavailableModel[];
  /** The free space of the data folder's disk, if it is low; else null. */
  lowDisk?(nowMs: number): DiskSpace | null;
}

export interface FeedProblem {
  readonly kind: "feed_stopped" | "feed_behind";
  readonly sinceMs: number;
  /** The newest entry that the receiver has accepted. */
  readonly throughId: number;
  /** How the receiver handled the last post; null if none was sent. */
  readonly problem: string | null;
}

/** Alerts from the gateway's own memory and disk. */
export function gatewayAlerts(
  {
    settings,
    deploymentHealth,
    droppedContent,
    tracingProblem,
    lowDisk,
    feedProblem,
    ledgerDamage,
    unavailableModels,
  }: GatewayState,
  nowMs: number,
  /** The models that were requested within `priceUseDays`. */
  requestedModels: ReadonlySet<string> = new Set(),
): Alert[] {
  const { models, skippedModels, source, server } = settings();
  const health = deploymentHealth();
  const dropped = droppedContent?.() ?? null;
  const untraced = tracingProblem?.() ?? null;
  const disk = lowDisk?.(nowMs) ?? null;
  const feed = feedProblem?.(nowMs) ?? null;
  const damage = ledgerDamage?.() ?? null;
  return [
    ...failingProviders(health),
    ...recoveredProviders(health, nowMs),
    ...(unavailableModels?.(nowMs) ?? [])
      .filter(({ model }) => models.some(({ id }) => id === model))
      .map(modelUnavailable),
    ...skippedModels.map(({ model, reason }) => ({
      ...unsetAlertFields,
      kind: "model_skipped" as const,
      subject: { type: "model" as const, id: model, label: model },
      text: `Model ${model} is not served: ${reason}.`,
      details: { reason },
    })),
    ...(dropped === null ? [] : [unrecorded(server.node, dropped)]),
    ...(damage === null ? [] : [ledgerDamaged(server.node, damage)]),
    ...(disk === null ? [] : [diskLow(server, disk)]),
    ...(feed === null ? [] : [feedAlert(feed)]),
    ...(untraced === null ? [] : [tracesDropped(server.node, untraced)]),
    ...outdatedPrices(settings(), requestedModels, nowMs),
    ...(source === null || !hasChangedOnDisk(source) ? [] : [newerConfiguration(source.file)]),
  ];
}

/** The store can only save this alert while it can still be written. */
export function storeUnavailable({ settings, problem }: GatewayState): Alert | null {
  const { node } = settings().server;
  const found = problem();
  if (found === null) return null;
  return {
    ...unsetAlertFields,
    kind: "store_unavailable",
    subject: { type: "store", id: node, label: node },
    text: `Gateway ${node} is not accepting requests: ${found.reason}`,
    details: { reason: found.reason, advice: found.advice },
  };
}

/**
 * More than one request, since each is tried at most twice per deployment. A circuit breaker opens later, and never for
 * a single key.
 */
const failuresInARow = 3;

function failingProviders(health: readonly DeploymentHealth[]): Alert[] {
  const failing = health.filter((each) => isFailing(each) || each.slow !== null);
  const groups = Map.groupBy(failing, (each) => `${kindOfFailure(each)} ${each.provider}`);
  return [...groups.values()].flatMap(alertOf);
}

/** Longer than the alerts of a stopped gateway stay valid, so that a response after a restart resolves earlier alerts. */
const recoveryPublishedForMs = 120_000;

/** Published for the gateway that sends alerts, which otherwise cannot distinguish a recovery from a lost alert. */
function recoveredProviders(health: readonly DeploymentHealth[], nowMs: number): Alert[] {
  const recovered = health.filter(
    (each) =>
      each.answeredAtMs !== null &&
      nowMs - each.answeredAtMs < recoveryPublishedForMs &&
      !isFailing(each) &&
      each.slow === null,
  );
  return recovered.map(({ name, provider }) => ({
    ...unsetAlertFields,
    kind: "provider_failing",
    subject: { type: "provider", id: provider, label: provider },
    text: "",
    details: { deployments: name },
    hasAnswered: true,
  }));
}

function isFailing({ alarm, state, consecutiveFailures }: DeploymentHealth): boolean {
  const isOpen = state === "open" || state === "half_open";
  return alarm !== null || isOpen || consecutiveFailures >= failuresInARow;
}

const refusesKey: readonly (string | null)[] = ["status_401", "status_403", "no_credential"];

type ProviderKind = "provider_billing" | "provider_auth" | "provider_failing" | "provider_slow";

function kindOfFailure(health: DeploymentHealth): ProviderKind {
  const { alarm } = health;
  if (alarm === "billing") return "provider_billing";
  if (refusesKey.includes(alarm)) return "provider_auth";
  return isFailing(health) ? "provider_failing" : "provider_slow";
}

/** One alert for all deployments of a provider that fail in the same way. */
function alertOf(deployments: readonly DeploymentHealth[]): Alert[] {
  const [first] = deployments;
  if (first === undefined) return [];
  const { provider, alarm } = first;
  const kind = kindOfFailure(first);
  const calls = deployments.flatMap(({ failing }) => failing ?? []);
  const failureKind = alarm ?? calls[0]?.failure ?? "incomplete_response";
  const failure = kind === "provider_slow" ? "no first byte" : failureKind.replaceAll("_", " ");
  const sum = (count: (slow: SlowCalls) => number) =>
    deployments.reduce((total, { slow }) => total + (slow === null ? 0 : count(slow)), 0);
  const names = deployments.map(({ name }) => name).join(", ");
  const text = {
    provider_billing: `Provider ${provider} reports a billing problem (${names}).`,
    provider_auth: `Provider ${provider} rejects the gateway's credentials (${names}: ${failure}).`,
    provider_failing: `Provider ${provider} is failing (${names}: ${failure}).`,
    provider_slow: `Provider ${provider} is slow: of ${plural(
      sum(({ calls }) => calls),
      "call",
    )}, clients cancelled ${sum(({ cancelled }) => cancelled)} before the first byte (${names}).`,
  }[kind];
  return [
    {
      kind,
      subject: { type: "provider", id: provider, label: provider },
      level: null,
      sinceMs: calls.length === 0 ? null : Math.min(...calls.map(({ sinceMs }) => sinceMs)),
      text,
      details: { deployments: names, failure },
      lastError:
        calls.find((call) => call.failure === failureKind && call.providerMessage !== null)
          ?.providerMessage ?? null,
    },
  ];
}

function modelUnavailable({ model, sinceMs, lastError }: UnavailableModel): Alert {
  const since = new Date(sinceMs).toISOString().replace(/\.\d+/, "");
  const last =
    lastError === null
      ? "the client of the last one gave up waiting"
      : `the last one got ${lastError.status} ${lastError.code}`;
  return {
    ...unsetAlertFields,
    kind: "model_unavailable",
    subject: { type: "model", id: model, label: model },
    sinceMs,
    text: `No request for model ${model} has succeeded since ${since}; ${last}.`,
    details: { status: lastError?.status ?? null, code: lastError?.code ?? null },
  };
}

const priceDays = 90;
/** A model that was not requested for as long has no price that matters. */
export const priceUseDays = 30;
const namedModels = 5;

/** Whether any price is so old that it matters which models are in use. */
export function hasOutdatedPrices({ models }: Settings, nowMs: number): boolean {
  return models.some((model) => isOutdated(model, nowMs));
}

function isOutdated({ priceChecked: day }: Pick<ModelSettings, "priceChecked">, nowMs: number): boolean {
  return day !== null && nowMs - Date.parse(day) > priceDays * msPerDay;
}

/** One alert for all prices, because they are checked together. */
function outdatedPrices({ models }: Settings, requested: ReadonlySet<string>, nowMs: number): Alert[] {
  const old = models.filter((model) => requested.has(model.id) && isOutdated(model, nowMs));
  const oldest = old.map(({ priceChecked }) => priceChecked ?? "").sort()[0];
  if (oldest === undefined) return [];
  const names = old.slice(0, namedModels).map(({ id }) => id);
  const more = old.length > names.length ? ` and ${old.length - names.length} more` : "";
  const outdated = plural(old.length, "price was", "prices were");
  return [
    {
      ...unsetAlertFields,
      kind: "price_outdated",
      subject: { type: "configuration", id: "prices", label: "prices" },
      text: `${outdated} checked more than ${priceDays} days ago, the oldest on ${oldest}: ${names.join(", ")}${more}.`,
      details: { models: old.length, oldest },
    },
  ];
}

function unrecorded(node: string, dropped: number): Alert {
  return {
    ...unsetAlertFields,
    kind: "content_dropped",
    subject: { type: "node", id: node, label: node },
    text: `Gateway ${node} does not record all content: its queue or its disk is full.`,
    details: { dropped },
  };
}

function diskLow({ node, data }: Settings["server"], { freeBytes, dayGrowthBytes }: DiskSpace): Alert {
  const growth = dayGrowthBytes === 0 ? "" : `, and ${size(dayGrowthBytes)} were filled within a day`;
  return {
    ...unsetAlertFields,
    kind: "disk_low",
    subject: { type: "node", id: node, label: node },
    text: `The disk that holds ${data} has ${size(freeBytes)} left${growth}. Free some space: once it is full, every request gets 503.`,
    details: { free_bytes: freeBytes, day_growth_bytes: dayGrowthBytes },
  };
}

/** Every gateway that reads the position raises the same alert. */
function feedAlert({ kind, sinceMs, throughId, problem }: FeedProblem): Alert {
  const reason = problem === null ? "" : ` The last post ${problem}.`;
  const stopped = `The ledger's feed has stopped after entry ${throughId}: its receiver ${problem}. Correct the receiver, then run \`sluice ledger feed resume\`.`;
  const behind = `The receiver of the ledger's feed has accepted nothing for 15 minutes; entries are waiting after ${throughId}.${reason}`;
  return {
    ...unsetAlertFields,
    kind,
    subject: { type: "ledger", id: "feed", label: "feed" },
    sinceMs,
    text: kind === "feed_stopped" ? stopped : behind,
    details: { through: throughId, reason: problem },
  };
}

function ledgerDamaged(node: string, { atMs, text }: LedgerDamage): Alert {
  return {
    ...unsetAlertFields,
    kind: "ledger_damaged",
    subject: { type: "ledger", id: node, label: node },
    sinceMs: atMs,
    text,
    details: {},
  };
}

function tracesDropped(node: string, { reason, sinceMs }: TracingProblem): Alert {
  return {
    ...unsetAlertFields,
    kind: "traces_dropped",
    subject: { type: "node", id: node, label: node },
    sinceMs,
    text: `Traces of gateway ${node} are lost: the collector ${reason}.`,
    details: { reason },
  };
}

function newerConfiguration(file: string): Alert {
  return {
    ...unsetAlertFields,
    kind: "config_not_loaded",
    subject: { type: "configuration", id: file, label: file },
    text: `The configuration ${file} has changed since it was loaded; \`sluice config reload\` applies it.`,
    details: { file },
  };
}
