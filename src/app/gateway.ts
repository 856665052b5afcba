import { DiskWatch, freeBytesOf } from "../alerts/disk-watch.ts";
import { AlertMonitor } from "../alerts/monitor.ts";
import { msPerHour } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import { newId } from "../base/id.ts";
import { fetchLimit } from "../base/system/fetch-limit.ts";
import { Catalog } from "../catalog/catalog.ts";
import type { Settings } from "../config/settings.ts";
import { FeedSender } from "../feed/sender.ts";
import type { ActiveConfig } from "../gateway/active-config.ts";
import type { Gateway } from "../gateway/exchange/gateway.ts";
import { Ongoing } from "../gateway/exchange/ongoing.ts";
import { OpenSockets } from "../gateway/exchange/open-sockets.ts";
import { Watchdog } from "../gateway/exchange/watchdog.ts";
import { maxFormBytes } from "../gateway/metered/form/read-form.ts";
import { EventReaders } from "../gateway/turns/event-readers.ts";
import { AbandonAllowance } from "../limits/abandon-allowance.ts";
import { AddressLimiter } from "../limits/address.ts";
import { BodyBudget } from "../limits/body-budget.ts";
import { ByteLimiter, InflateLimiter } from "../limits/byte-limiter.ts";
import { Gates } from "../limits/concurrency.ts";
import { LabelValues } from "../limits/label-values.ts";
import { RateLimiter } from "../limits/rate-limiter.ts";
import { Upstream } from "../upstream/providers.ts";
import { maxProviderResponseBytes } from "../upstream/upstream.ts";
import type { Services } from "./services.ts";

/** The limit of bytes of all forms together, on the disk for temporary files. */
const maxFormsBytes = 4 * maxFormBytes;

/**
 * Limit of open forms and message batches over all keys. One key can have half of them, a second one half of the rest. Each form uses three
 * file descriptors.
 */
const maxForms = Math.min(1024, fetchLimit());

/** More than clients that fetch files side by side open. */
const maxDownloadsPerKey = 16;

/** More than clients that send files side by side start. */
const maxUploadsPerKey = 16;

/** Bytes of conversations that a key may write: new items, and the newest ones again. All are written if an older item is deleted. */
const conversationWrites = { maxBytes: 64 * 1024 * 1024, bytesPerMs: (1024 * 1024) / 1000 };

/** The dependencies for serving requests. Limits are read on each request, because a reload can change them. */
export function createGateway(settings: Settings, services: Services): Gateway {
  const { clock, logs, backend, live, tracing, watcher } = services;
  const serverSettings = () => gateway.configured.settings.server;
  const gateway: Gateway = {
    configured: configure(settings, services),
    clock,
    keys: services.keys,
    accounts: backend.accounts,
    claims: backend.claims,
    idOwners: services.idOwners,
    lastRequestOfSession: backend.store.lastRequestOfSession,
    capReads: backend.store,
    playground: backend.store.admin.playground,
    labelValues: new LabelValues(),
    turns: services.turns,
    backgrounds: services.backgrounds,
    batches: services.batches,
    rateLimits: backend.rateLimits,
    warmUps: new RateLimiter(clock),
    addressLimiter: new AddressLimiter(clock, settings.server.anonymousRpm),
    abandonAllowance: abandonAllowance(services),
    inflateLimiter: new InflateLimiter(clock),
    conversationWrites: new ByteLimiter(clock, conversationWrites),
    bodies: new BodyBudget({
      totalBytes: () => serverSettings().maxBodyMemory,
      largestBytes: () => serverSettings().maxBodyBytes,
    }),
    answers: new BodyBudget({
      totalBytes: () => Math.max(serverSettings().maxBodyMemory, maxProviderResponseBytes),
      largestBytes: () => Math.max(serverSettings().maxBodyBytes, maxProviderResponseBytes),
    }),
    downloads: new Gates({ limit: maxDownloadsPerKey, queueLimit: 0, waitMs: 0 }),
    eventReaders: new EventReaders({
      backgrounds: services.backgrounds,
      encryptionKey: () => gateway.configured.settings.responses.encryptionKey,
      isDraining: () => gateway.ongoing.isDraining,
    }),
    forms: new BodyBudget({ totalBytes: () => maxFormsBytes, largestBytes: () => maxFormBytes }),
    formSlots: new BodyBudget({ totalBytes: () => maxForms, largestBytes: () => 1 }),
    uploads: new Gates({ limit: maxUploadsPerKey, queueLimit: 0, waitMs: 0 }),
    largeBodies: services.largeBodies,
    tokens: services.tokenCounter,
    content: services.content,
    watchdog: new Watchdog(clock.monotonicMs),
    ongoing: new Ongoing({
      maxConcurrent: () => serverSettings().maxConcurrent,
      maxPerKey: () => serverSettings().maxConcurrentPerKey,
      lagMs: () => live.lag.overloadMs,
    }),
    sockets: new OpenSockets(),
    socketSlots: new BodyBudget({
      totalBytes: () => gateway.configured.settings.websocket.maxConnections,
      largestBytes: () => 1,
    }),
    requestLog: services.requestLog,
    callerIds: services.callerIds,
    observe: (facts) => {
      logs.exchange(facts);
      live.observe(facts);
      services.modelOutcomes.observe(facts);
      tracing.observe(facts, services.content?.traced(facts.requestId) ?? null);
    },
    catchUp: () => watcher.refresh(),
    storeProblem: () => backend.problem?.reason ?? null,
  };
  backend.attach({
    inFlight: () => gateway.ongoing.size,
    onFenced: () => gateway.ongoing.interruptAll(fenced()),
  });
  return gateway;
}

function abandonAllowance({ clock, backend }: Services): AbandonAllowance {
  const { store } = backend;
  return new AbandonAllowance({
    clock,
    chargedSince: async (accountId, sinceMs) => {
      const nowMs = clock.wallMs();
      const range = { sinceMs, untilMs: nowMs + msPerHour };
      const steps = await store.reports.usageInSteps({ accountId, stepMs: msPerHour, ...range });
      // An account is charged in credits or in tokens, never both.
      return steps.reduce((sum, { spendNano, spendTokens }) => sum + spendNano + spendTokens, 0);
    },
    liveNodes: async () => {
      const nodes = (await store.nodes?.states()) ?? [];
      return nodes.filter(({ state }) => state === "live").length;
    },
  });
}

/** Senders that post to operators' servers. */
export interface Senders {
  /** Raises alerts. */
  readonly monitor: AlertMonitor;
  readonly feed: FeedSender;
}

/** Creates the senders. If several gateways share a database, one of them sends both alerts and the feed. */
export function createSenders(
  gateway: Gateway,
  { backend, clock, logs, modelOutcomes, tracing }: Services,
): Senders {
  const name = newId("gw_");
  const feed = new FeedSender({
    store: backend.store,
    clock,
    log: logs.log,
    settings: () => gateway.configured.settings,
    lead: (forMs) => backend.store.alerts.lead(name, forMs),
  });
  const disk = new DiskWatch(() => freeBytesOf(gateway.configured.settings.server.data));
  const monitor = new AlertMonitor({
    gateway: name,
    store: backend.store,
    clock,
    clockOffsetMs: () => backend.clockOffsetMs,
    log: logs.log,
    settings: () => gateway.configured.settings,
    deploymentHealth: () => gateway.configured.upstream.health(),
    problem: () => backend.problem,
    droppedContent: () => gateway.content?.recentlyDropped ?? null,
    ledgerDamage: () => backend.store.files?.damage ?? null,
    tracingProblem: () => tracing.problem,
    unavailableModels: (nowMs) => modelOutcomes.unavailable(nowMs),
    lowDisk: (nowMs) => disk.readLow(nowMs),
    feedProblem: (nowMs) => feed.problem(nowMs),
  });
  return { monitor, feed };
}

/** Builds the parts that a reload replaces. */
export function configure(
  settings: Settings,
  { clock, logs, tokenSources }: Services,
  before?: ActiveConfig,
): ActiveConfig {
  const upstream = new Upstream({
    settings,
    clock,
    log: logs.log,
    tokens: tokenSources,
    before: before?.upstream,
  });
  tokenSources.stopUnused();
  return { settings, catalog: Catalog.from(settings), upstream };
}

function fenced(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "The gateway lost contact with its database during this request. Retry in a few seconds.",
  );
}
