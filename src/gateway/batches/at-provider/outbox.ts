import { assert } from "../../../base/assert.ts";
import { GatewayError } from "../../../base/errors.ts";
import { newId } from "../../../base/id.ts";
import type { ClaimedLine, OwnedHold, ParkedAmount, ProviderBatch } from "../../../store/store.ts";
import { BatchCallFailed } from "../../../vendors/batches.ts";
import { providerBatches } from "../../../vendors/registry.ts";
import type { Gateway } from "../../exchange/gateway.ts";
import type { OpenBatch } from "../open-batch.ts";
import { customId } from "./custom-id.ts";
import type { LeavingLine, LineSender } from "./line-at-provider.ts";
import { sendLeases, sendTimeouts } from "./timing.ts";

/** The most that a provider's batch has. */
const [maxLines, maxBytes] = [1000, 32 * 1024 * 1024];
/** A batch is sent this long after its last line. */
const idleMs = 1000;
/** How soon it is noted that lines have been collected. */
const noteMs = 50;
/** How long a stop waits for what is being sent. Later it is found out what became of it. */
const stopMs = 5000;
/** How soon a line is tried again for which too much of the account is reserved already. */
const waitSeconds = 60;

export interface OutboxOptions {
  readonly gateway: Gateway;
  /** Lines of a batch that the provider has not accepted run again. */
  giveUp(batch: OpenBatch, record: ProviderBatch, error: BatchCallFailed): Promise<void>;
  onError(error: unknown): void;
}

interface LeftLine extends LeavingLine {
  readonly line: ClaimedLine;
}

/** Lines of a batch that go to one provider together. */
interface Group extends Pick<LeavingLine, "deployment" | "credential" | "terms"> {
  readonly batch: OpenBatch;
  readonly accountId: string;
  /** What lines at providers reserved in the account when the group began. */
  readonly parked: Promise<ParkedAmount>;
  /** What other groups of the account have parked since. */
  parkedSince: number;
  readonly lines: LeftLine[];
  /** Lines that are not noted yet. */
  readonly unnoted: number[];
  held: number;
  /** The least that was left in the account for others. */
  remaining: number;
  bytes: number;
  isClosed: boolean;
  timer: ReturnType<typeof setTimeout> | null;
}

/** Collects lines that providers run in batches of their own, and sends them. */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #groups = new Map<string, Group>();
  /** Groups whose holds are in memory only. */
  readonly #unparked = new Set<Group>();
  /** Names of lines that this process has, although it does not run them. */
  readonly names = new Set<string>();
  readonly #sending = new Set<Promise<void>>();
  #isStopped = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  sender(batch: OpenBatch, line: ClaimedLine): LineSender {
    const sender = {
      hasTaken: false,
      take: async (leaving: LeavingLine) => {
        await this.#take(batch, line, leaving);
        sender.hasTaken = true;
      },
    };
    return sender;
  }

  /** What was not sent waits for the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const group of this.#groups.values()) this.#close(group, () => this.#takeBack(group));
    await Promise.race([Promise.all(this.#sending), Bun.sleep(stopMs)]);
  }

  async #take(batch: OpenBatch, line: ClaimedLine, leaving: LeavingLine): Promise<void> {
    const { credential, request, hold, remaining, terms } = leaving;
    const name = [batch.id, credential, terms].join(" ");
    const group = this.#groups.getOrInsertComputed(name, () => this.#newGroup(batch, leaving));
    const parked = await group.parked;
    if (group.isClosed) return this.#take(batch, line, leaving);
    // At most half, because others share the account. A key that has nothing there yet sends one line all the same.
    const reserved = parked.account + group.parkedSince + this.#heldInMemory(group);
    // As known when the line was held: lines that were held since have lowered it.
    group.remaining = Math.min(group.remaining, remaining);
    const isTooMuch = reserved + hold.amount > group.remaining;
    if (this.#isStopped || (isTooMuch && parked.own + group.held > 0)) {
      if (group.lines.length > 0) this.#send(group);
      else this.#drop(name, group);
      throw new WaitsForProvider();
    }
    this.names.add(`${batch.id} ${line.no}`);
    group.lines.push({ ...leaving, line });
    group.held += hold.amount;
    this.#note(group, line);
    group.bytes += request.body.length;
    if (group.timer !== null) clearTimeout(group.timer);
    const { providerPollMs } = this.#options.gateway.configured.settings.batches;
    group.timer = setTimeout(() => this.#send(group), Math.min(idleMs, providerPollMs));
    if (group.lines.length >= maxLines || group.bytes >= maxBytes) this.#send(group);
  }

  /** Nothing was collected. Lines that wait for its answer begin another one. */
  #drop(name: string, group: Group): void {
    group.isClosed = true;
    this.#groups.delete(name);
    this.#unparked.delete(group);
  }

  #heldInMemory({ accountId }: Group): number {
    let held = 0;
    for (const group of this.#unparked) if (group.accountId === accountId) held += group.held;
    return held;
  }

  #newGroup(batch: OpenBatch, { deployment, credential, terms, hold: { accountId } }: LeavingLine): Group {
    const { store } = this.#options.gateway.batches;
    const parked = store.providerBatches.parkedAmount(batch.keyId);
    const empty = {
      lines: [],
      unnoted: [],
      held: 0,
      parkedSince: 0,
      remaining: Infinity,
      bytes: 0,
      isClosed: false,
      timer: null,
    };
    const group: Group = { batch, deployment, credential, terms, accountId, parked, ...empty };
    this.#unparked.add(group);
    return group;
  }

  /** Some lines at a time, soon. */
  #note({ batch, unnoted }: Group, { no, node }: ClaimedLine): void {
    if (unnoted.push(no) > 1) return;
    setTimeout(() => {
      const { providerBatches } = this.#options.gateway.batches.store;
      providerBatches.collected(batch.id, unnoted.splice(0), node).catch(this.#options.onError);
    }, noteMs);
  }

  #send(group: Group): void {
    this.#close(group, () => this.#deliver(group));
  }

  #close(group: Group, work: () => Promise<void>): void {
    if (group.isClosed) return;
    group.isClosed = true;
    if (group.timer !== null) clearTimeout(group.timer);
    for (const [name, each] of this.#groups) if (each === group) this.#groups.delete(name);
    const working = work()
      .catch(this.#options.onError)
      .finally(() => {
        this.#unparked.delete(group);
        for (const { line } of group.lines) this.names.delete(`${group.batch.id} ${line.no}`);
        this.#sending.delete(working);
      });
    this.#sending.add(working);
  }

  /** The intention is durable before anything is sent, and so are the holds. */
  async #deliver(group: Group): Promise<void> {
    const { gateway, onError } = this.#options;
    const { clock, accounts, batches, configured } = gateway;
    const { providerBatches: stored } = batches.store;
    const { deployment, credential, terms, batch, lines } = group;
    const { providerPollMs } = configured.settings.batches;
    const createdAtMs = Math.floor(clock.wallMs());
    const record = {
      ...{ id: newId("slb_"), batchId: batch.id, provider: deployment.provider.settings.name, credential },
      ...{ upstreamModel: deployment.upstreamModel, lines: lines.length, terms, createdAtMs },
    };
    const held = lines.map(({ line, hold }) => ({ ...line, hold: ownedHold(hold) }));
    const dueAtMs = createdAtMs + sendLeases * providerPollMs;
    const isParked = await stored.park(record, held, dueAtMs).catch((error) => {
      onError(error);
      return false;
    });
    if (!isParked) return this.#takeBack(group);
    for (const { hold } of lines) accounts.parked(hold);
    this.#parked(group);
    const api = providerBatches(deployment.provider, credential);
    assert(api !== null, "a line goes only to a provider that has batches");
    try {
      const sent = lines.map(({ line, request }) => ({
        id: customId(record.id, line.no),
        body: request.body,
      }));
      const headers = lines[0]?.request.headers ?? {};
      const providerId = await api.create(sent, headers, sendTimeouts * providerPollMs);
      const nextMs = Math.floor(clock.wallMs() + providerPollMs);
      // They may have been given up meanwhile, because this process was stopped for long.
      if (!(await stored.sent(record.id, providerId, nextMs))) await api.cancel(providerId);
    } catch (error) {
      // Whether the provider has it is found out later.
      onError(error);
      if (!(error instanceof BatchCallFailed) || !error.isRejected) return;
      await this.#options.giveUp(batch, { ...record, providerId: null, isCancelled: false, looks: 0 }, error);
    }
  }

  #parked(parked: Group): void {
    this.#unparked.delete(parked);
    for (const group of this.#groups.values()) {
      if (group.accountId === parked.accountId) group.parkedSince += parked.held;
    }
  }

  /** Nothing was sent, and nothing is durable. */
  async #takeBack({ lines }: Group): Promise<void> {
    const { gateway } = this.#options;
    for (const { line, hold } of lines) {
      gateway.accounts.release(hold);
      await gateway.batches.store.batches.requeue(line, 0, false);
    }
  }
}

function ownedHold({ id: holdId, amount, openedAtMs, terms }: LeavingLine["hold"]): OwnedHold {
  return { holdId, amount, openedAtMs, ...terms };
}

/** Too much of the account is reserved for lines at providers. */
export class WaitsForProvider extends GatewayError {
  constructor() {
    const message = "Half of what the account can spend is reserved for requests at the provider.";
    super("balance_temporarily_reserved", message, { retryAfterSeconds: waitSeconds });
  }
}
