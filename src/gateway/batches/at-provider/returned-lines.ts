import type { ClaimedLine, LineAtProvider, ProviderBatch } from "../../../store/store.ts";
import type { BatchCallFailed, ProviderResult } from "../../../vendors/batches.ts";
import type { Gateway } from "../../exchange/gateway.ts";
import type { LinePacer } from "../line-pacer.ts";
import type { OpenBatch } from "../open-batch.ts";
import type { LineOutcome, RunAgain } from "../run-line.ts";
import type { ReturnedLine } from "./line-at-provider.ts";

const linesAtOnce = 200;

export interface ReturnedLinesOptions {
  readonly gateway: Gateway;
  readonly pacer: LinePacer;
  /** Runs a line with its result in place of a provider. */
  run(batch: OpenBatch, line: ClaimedLine, returned: ReturnedLine): Promise<LineOutcome>;
  /** Writes what became of a line. */
  take(batch: OpenBatch, line: ClaimedLine, outcome: LineOutcome): Promise<void>;
  /** A line counts as running until the work has ended. */
  track(batch: OpenBatch, line: Pick<ClaimedLine, "no">, work: () => Promise<void>): Promise<void>;
  /** No line starts for a while that goes there: `provider/upstream_model`. */
  slowDown(place: string): void;
}

/** A provider's batch that has ended, and what its lines are charged by. */
type ReturnedBatch = ProviderBatch & Pick<ReturnedLine, "configured">;

/**
 * Ends lines that were at a provider. A hold is released before its line ends or runs again, so that a crash in between leaves a line
 * without a hold, which is looked at again, and never a hold without a line.
 */
export class ReturnedLines {
  readonly #options: ReturnedLinesOptions;

  constructor(options: ReturnedLinesOptions) {
    this.#options = options;
  }

  /** False if its result has to be read again. */
  async settle(
    batch: OpenBatch,
    record: ReturnedBatch,
    no: number,
    result: ProviderResult,
  ): Promise<boolean> {
    const { gateway, pacer, track } = this.#options;
    await pacer.start();
    let isSettled = false;
    await track(batch, { no }, async () => {
      const line = await gateway.batches.store.providerBatches.take(record.id, no, gateway.batches.node);
      isSettled = line === null || (await this.#end(batch, record, line, result));
    });
    return isSettled;
  }

  /** Lines without a result run again. Returns how many. */
  async runAgain(batch: OpenBatch, { id }: ProviderBatch, hasReached: boolean): Promise<number> {
    const { gateway, track } = this.#options;
    const { providerBatches: stored } = gateway.batches.store;
    let count = 0;
    let numbers = await stored.unsettled(id, -1, linesAtOnce);
    while (numbers.length > 0) {
      for (const no of numbers) {
        await track(batch, { no }, async () => {
          const line = await stored.take(id, no, gateway.batches.node);
          if (line === null) return;
          await this.#again(batch, line, { hasReached });
          count += 1;
        });
      }
      numbers = await stored.unsettled(id, numbers.at(-1) ?? 0, linesAtOnce);
    }
    return count;
  }

  /** The provider has not accepted them. Those that it would never accept are run here. */
  async giveUp(batch: OpenBatch, record: ProviderBatch, error: BatchCallFailed): Promise<void> {
    const { gateway, slowDown } = this.#options;
    if (error.isPassing) slowDown(`${record.provider}/${record.upstreamModel}`);
    await this.runAgain(batch, record, !error.isPassing);
    await gateway.batches.store.providerBatches.over(record.id);
  }

  async #end(
    batch: OpenBatch,
    record: ReturnedBatch,
    line: LineAtProvider,
    result: ProviderResult,
  ): Promise<boolean> {
    const { gateway, run, take } = this.#options;
    const { provider, upstreamModel, credential, configured } = record;
    if (result.kind !== "response" && result.kind !== "error") {
      const wasOurs = record.isCancelled || result.kind === "expired";
      await this.#again(batch, line, { hasReached: result.kind === "expired", isCancelled: !wasOurs });
      return true;
    }
    const hold = line.hold && gateway.accounts.adopt(line.hold);
    const outcome = await run(batch, line, { result, hold, provider, upstreamModel, credential, configured });
    const isUnreadable = outcome.kind === "again" && outcome.cause === "failed";
    if (outcome.kind !== "ended" && result.kind === "response" && !isUnreadable) {
      if (hold?.state === "open") gateway.accounts.parked(hold);
      await gateway.batches.store.providerBatches.giveBack(line);
      return false;
    }
    if (hold !== null) await gateway.accounts.unpark(hold);
    const isAgain = outcome.kind === "again" || outcome.kind === "wait";
    await take(batch, line, isAgain ? { ...againAtOnce, hasReached: true } : outcome);
    return true;
  }

  async #again(
    batch: OpenBatch,
    line: LineAtProvider,
    why: Pick<RunAgain, "hasReached" | "isCancelled">,
  ): Promise<void> {
    const { gateway, take } = this.#options;
    const hold = line.hold && gateway.accounts.adopt(line.hold);
    if (hold !== null) await gateway.accounts.unpark(hold);
    await take(batch, line, { ...againAtOnce, ...why });
  }
}

const againAtOnce = { kind: "again", afterMs: 0, cause: null } as const;
