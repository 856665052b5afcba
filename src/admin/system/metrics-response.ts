import { type Alert, alertKindNames, isAboutProvider } from "../../alerts/alert.ts";
import { newId } from "../../base/id.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import { residentBytes } from "../../base/system/resident-bytes.ts";
import { stateOf } from "../../gateway/batches/batch-object.ts";
import type { AccountGauges, Gauges } from "../../observe/metrics-gauges.ts";
import type { AccountRecord } from "../../store/store.ts";
import { viewAccounts } from "../accounts/account-view.ts";
import type { UnmountedDeps } from "../deps.ts";

export type MetricsSource = UnmountedDeps;

export async function metricsResponse(deps: MetricsSource): Promise<Response> {
  const [accounts, batches] = await Promise.all([accountGauges(deps), batchGauges(deps)]);
  return new Response(renderMetrics(deps, accounts, batches), {
    headers: {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
      "cache-control": "no-store",
      "x-request-id": newId("req_"),
    },
  });
}

function renderMetrics(
  deps: MetricsSource,
  accounts: readonly AccountGauges[],
  batches: Gauges["batches"],
): string {
  const held = deps.accounts.held();
  const { overrun } = deps.accounts;
  const providers = deps.settings().named.providers;
  return deps.live.metrics.render({
    version: deps.version,
    startedAtMs: performance.timeOrigin,
    providers,
    ready: !deps.isDraining() && deps.problem() === null,
    inFlight: deps.inFlight(),
    backgroundInFlight: deps.backgroundInFlight(),
    batches,
    requestLogDropped: deps.requestLogDropped(),
    droppedContent: deps.droppedContent(),
    droppedSpans: deps.droppedSpans(),
    feed: feedGauges(deps),
    heldCredits: creditsFromNano(held.nano),
    heldTokens: held.tokens,
    overrunCredits: creditsFromNano(overrun.nano),
    overrunTokens: overrun.tokens,
    eventLoopLagMs: deps.live.lag.maxMs,
    residentBytes: residentBytes(),
    journal: deps.journalStats(),
    activeAlerts: alertCounts(deps.alerts(), providers),
    accounts,
    breakers: deps
      .deploymentHealth()
      .map(({ name, state, inFlight }) => ({ deployment: name, state, inFlight })),
  });
}

function feedGauges({ feed, clock }: MetricsSource): Gauges["feed"] {
  if (feed === null || feed.state === null) return null;
  const { entries, sinceMs } = feed.state.lag;
  const seconds = sinceMs === null ? 0 : Math.max(0, clock.wallMs() - sinceMs) / 1000;
  return { lagEntries: entries, lagSeconds: seconds, posts: feed.posts };
}

/** Counts all kinds, also with 0, so that a series does not vanish when its alert resolves. */
function alertCounts(alerts: readonly Alert[], providers: readonly string[]) {
  return alertKindNames.flatMap((kind): Gauges["activeAlerts"] => {
    const ofKind = alerts.filter((alert) => alert.kind === kind);
    if (!isAboutProvider({ kind })) return [{ kind, provider: null, count: ofKind.length }];
    // Another gateway may have other providers.
    const all = new Set([...providers, ...ofKind.map(({ subject }) => subject.id)]);
    return [...all].map((provider) => ({
      kind,
      provider,
      count: ofKind.filter(({ subject }) => subject.id === provider).length,
    }));
  });
}

/** Each account is at least one time series, permanently. Larger installations use reports instead. */
const maxAccounts = 100;
const timeoutMs = 2_000;
const listedWithinMs = 200;

/** The shown accounts, as last listed. A report keeps the list waiting, but not their balances and caps. */
class ShownAccounts {
  #listed: readonly AccountRecord[] | null = null;
  #listing: Promise<void> | null = null;

  async list(store: MetricsSource["store"]): Promise<readonly AccountRecord[]> {
    this.#listing ??= this.#update(store);
    await Promise.race([this.#listing, Bun.sleep(this.#listed === null ? timeoutMs : listedWithinMs)]);
    return this.#listed ?? [];
  }

  async #update(store: MetricsSource["store"]): Promise<void> {
    try {
      this.#listed = await store.listAccounts({ limit: maxAccounts });
    } catch {
      // The next scrape lists them again.
    } finally {
      this.#listing = null;
    }
  }
}

const shownAccounts = new WeakMap<MetricsSource["store"], ShownAccounts>();

function listShown(store: MetricsSource["store"]): Promise<readonly AccountRecord[]> {
  const shown = shownAccounts.get(store) ?? new ShownAccounts();
  shownAccounts.set(store, shown);
  return shown.list(store);
}

/**
 * Gauges of the oldest shared accounts. Empty while the store does not respond: the other metrics report that, and must
 * not wait.
 */
async function accountGauges(deps: MetricsSource): Promise<readonly AccountGauges[]> {
  if (deps.problem() !== null) return [];
  const nothing = Bun.sleep(timeoutMs).then(() => []);
  return Promise.race([readGauges(deps).catch(() => []), nothing]);
}

const noBatches = { states: {}, waitingLines: 0, runningLines: 0, oldestSeconds: 0 };

/** Counts of this gateway, with what the store says of batches; without that while the store does not respond. */
async function batchGauges(deps: MetricsSource): Promise<Gauges["batches"]> {
  const { interrupted: reruns, unknown: unknownResults, ...ended } = deps.lineCounts();
  const counted = { ended, reruns, unknownResults };
  if (deps.problem() !== null) return { ...noBatches, ...counted };
  const nothing = Bun.sleep(timeoutMs).then(() => noBatches);
  return { ...(await Promise.race([readBatches(deps).catch(() => noBatches), nothing])), ...counted };
}

async function readBatches({
  store,
  clock,
}: MetricsSource): Promise<Omit<Gauges["batches"], "ended" | "reruns" | "unknownResults">> {
  const open = await store.batches.open();
  const states = { running: 0, waiting: 0, paused: 0, ended: 0 };
  for (const batch of open) states[stateOf(batch).state] += 1;
  const lines = open.length === 0 ? { waiting: 0, running: 0 } : await store.batches.countLines();
  const oldestMs = open[0] === undefined ? 0 : Math.max(0, clock.wallMs() - open[0].createdAtMs);
  const { ended: _, ...unfinished } = states;
  return {
    states: unfinished,
    waitingLines: lines.waiting,
    runningLines: lines.running,
    oldestSeconds: oldestMs / 1000,
  };
}

async function readGauges(deps: MetricsSource): Promise<AccountGauges[]> {
  const accounts = await listShown(deps.store);
  // Those with thousands of keys would keep everybody waiting at every scrape: 5,000 with a cap took 57 ms.
  return (await viewAccounts(deps, accounts, false)).map(({ id, label, credit, budget, caps }) => ({
    account: id,
    label: label ?? "",
    unit: credit === null ? "tokens" : "credits",
    balance: credit === null ? (budget?.remaining ?? null) : credit.balance,
    caps: caps.map(({ period, models, limit, used }) => ({ period, models: models ?? "", limit, used })),
  }));
}
