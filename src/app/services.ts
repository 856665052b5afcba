import { version } from "../../package.json";
import { Live } from "../admin/live/live.ts";
import { ModelOutcomes } from "../alerts/model-outcomes.ts";
import type { Backend } from "../backend/backend.ts";
import type { Clock } from "../base/clock.ts";
import { startDeadline } from "../base/loop/deadline.ts";
import { TokenCounter } from "../catalog/tokens/counter.ts";
import type { Settings } from "../config/settings.ts";
import type { ContentRecorder } from "../content/recorder.ts";
import type { TracedContent } from "../content/traced-content.ts";
import { LargeBodies } from "../gateway/body-worker/body-worker.ts";
import { ProviderIdOwners } from "../gateway/references/provider-id-owners.ts";
import { Backgrounds } from "../gateway/turns/backgrounds.ts";
import { Batches } from "../gateway/turns/batches.ts";
import { Turns } from "../gateway/turns/turns.ts";
import { KeyRing } from "../keys/keyring.ts";
import type { ExchangeFacts } from "../observe/exchange.ts";
import type { Log, Logs } from "../observe/log.ts";
import type { TracingProblem } from "../observe/span-outbox.ts";
import { startTracing, type Tracing } from "../observe/tracing.ts";
import { CallerIdQueue } from "../store/caller-id-queue.ts";
import { OutcomeQueue } from "../store/outcome-queue.ts";
import { StoreWatcher } from "../store/watcher.ts";
import { TokenSources } from "../vendors/credentials/token-sources.ts";

/** How long sending the last traces can take at a stop. */
const lastTracesMs = 2000;

/** The running tracing, which a reload can replace. A dead collector delays neither a reload nor a shutdown. */
class CurrentTracing {
  readonly #log: Log;
  #tracing: Tracing | null = null;
  /** Spans that did not reach a collector, since the start. */
  #dropped = 0;
  /** Called for each span whose content is dropped because the collector is slow. */
  onContentDropped: () => void = () => {};
  /** Spans whose content is being read. */
  readonly #waiting = new Set<Promise<void>>();

  constructor(log: Log) {
    this.#log = log;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Null while spans arrive, or none are sent. */
  get problem(): TracingProblem | null {
    return this.#tracing?.problem ?? null;
  }

  /** `content` resolves to the recorded conversation, once it has been read. */
  observe(facts: ExchangeFacts, content: Promise<TracedContent | null> | null): void {
    if (this.#tracing === null) return;
    if (content === null) {
      this.#tracing.observe(facts);
      return;
    }
    const observed = content.then((content) => this.#tracing?.observe(facts, content?.attributes));
    this.#waiting.add(observed);
    void observed.catch(this.#onUnsent).finally(() => this.#waiting.delete(observed));
  }

  /** Replaces the tracing. The old one sends its remaining spans in the background. */
  async replace(settings: Settings["tracing"]): Promise<void> {
    const before = this.#tracing;
    this.#tracing = await startTracing(settings, version, {
      onContentDropped: () => this.onContentDropped(),
      onSpansDropped: (count) => {
        this.#dropped += count;
      },
      onProblem: (reason) => this.#log.warn(`traces dropped: the collector ${reason}`),
    });
    before?.close().catch(this.#onUnsent);
  }

  readonly #onUnsent = (err: unknown) => this.#log.warn({ err }, "the last traces could not be sent");

  async close(): Promise<void> {
    if (this.#tracing === null) return;
    const late = Promise.withResolvers<void>();
    const cancelDeadline = startDeadline(lastTracesMs, () =>
      late.reject(new Error("The trace collector takes too long to respond.")),
    );
    const tracing = this.#tracing;
    const sent = Promise.allSettled(this.#waiting).then(() => tracing.close());
    await Promise.race([sent, late.promise]).catch(this.#onUnsent);
    cancelDeadline();
  }
}

/** The services that a gateway is built on, from its start to its stop. A reload replaces none of them. */
export type Services = Readonly<Awaited<ReturnType<typeof openServices>>>;

/** Services that exist before all others. */
interface FirstServices {
  readonly clock: Clock;
  readonly logs: Logs;
  readonly backend: Backend;
}

/** Opens the services and adds each to `opened`, which is closed in reverse order if the start fails. */
export async function openServices(
  settings: Settings,
  { clock, logs, backend }: FirstServices,
  opened: AsyncDisposableStack,
) {
  const { store } = backend;
  const keys = new KeyRing(clock, backend.keys, backend.signIns);
  const idOwners = new ProviderIdOwners({ store, clock });
  const turns = new Turns({ store, clock, retryBytes: (keyId) => backend.claims.keptBytes(keyId) });
  const backgrounds = new Backgrounds({
    store,
    node: () => backend.node,
    onError: (err) => logs.log.error({ err }, "the end of a background response could not be stored"),
  });
  const batches = new Batches({ store, node: () => backend.node });
  const live = new Live(clock);
  const tracing = new CurrentTracing(logs.log);
  opened.defer(() => tracing.close());
  await tracing.replace(settings.tracing);
  const tokenCounter = new TokenCounter();
  opened.defer(() => tokenCounter.stop());
  const largeBodies = new LargeBodies();
  opened.defer(() => largeBodies.stop());
  const watcher = watcherOf(backend, keys, batches, logs.log);
  const requestLog = new OutcomeQueue({
    store,
    onDropped: (count) =>
      logs.log.warn({ count }, "request outcomes were dropped from the request log and reports"),
  });
  opened.defer(() => requestLog.close());
  const callerIds = new CallerIdQueue(store);
  opened.defer(() => callerIds.flush());
  // Fetches and refreshes the providers' access tokens.
  const tokenSources = new TokenSources({
    clock,
    onRefreshFailed: (provider, { message }) =>
      logs.log.warn({ provider }, `the provider's token could not be refreshed: ${message}`),
  });
  opened.defer(() => tokenSources.stop());
  const content = await openContent(settings, logs.log);
  if (content !== null) {
    tracing.onContentDropped = () => content.countDropped(1);
    opened.defer(() => content.close());
  }
  return {
    content,
    clock,
    logs,
    modelOutcomes: new ModelOutcomes(),
    backend,
    keys,
    idOwners,
    turns,
    backgrounds,
    batches,
    live,
    tracing,
    tokenCounter,
    largeBodies,
    watcher,
    requestLog,
    callerIds,
    tokenSources,
  };
}

/** Loads the recorder only if content is recorded or traced. */
async function openContent(settings: Settings, log: Log): Promise<ContentRecorder | null> {
  const { content, tracing, store, server } = settings;
  if (content === null && !tracing?.content) return null;
  const { ContentRecorder } = await import("../content/recorder.ts");
  return ContentRecorder.open({
    location: store ?? { dir: server.data },
    settings: content,
    onProgress: (done, all) => log.info({ done, all }, "recorded content is being encrypted"),
    onFailure: (reason) =>
      log.error({ reason }, "content could not be recorded; requests continue without it"),
  });
}

function watcherOf(
  { store, accounts, revision, changesEveryMs }: Backend,
  keys: KeyRing,
  batches: Batches,
  log: Log,
) {
  return new StoreWatcher({
    store,
    revision,
    everyMs: changesEveryMs,
    apply: (changes) => {
      keys.apply(changes);
      accounts.apply(changes);
      batches.wake();
    },
    onError: (err) => log.error({ err }, "changes could not be read"),
  });
}
