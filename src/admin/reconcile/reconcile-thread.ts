import { assert } from "../../base/assert.ts";
import { startThread, threadSource } from "../../base/threads/start-thread.ts";
import { WorkerThread } from "../../base/threads/worker-thread.ts";
import { Gate } from "../../limits/concurrency.ts";
import type { AttemptSums } from "../../store/store.ts";
import { invalidInput, OperationError } from "../context.ts";
import { AdminError, clientGone } from "../formats/admin-error.ts";
import type { LedgerSide } from "./reconciliation.ts";
import type {
  ComparisonResult,
  ReconcileMessage,
  ReconcileReply,
  RequestedReconciliation,
} from "./thread-messages.ts";

const source = threadSource("admin/reconcile/thread.ts");
/** About 200 bytes each on the thread. */
const maxSums = 500_000;
const gateOptions = { limit: 1, queueLimit: 8, waitMs: 60_000 };

export interface ReportedSide extends Omit<LedgerSide, "attempts"> {
  readonly body: Uint8Array;
  /** Fires when the client disconnects. */
  readonly signal: AbortSignal;
  /** The ledger's totals, page by page. */
  attempts(request: RequestedReconciliation): AsyncIterable<readonly AttemptSums[]>;
}

export interface ReconcileResult extends ComparisonResult {
  readonly request: RequestedReconciliation;
}

/**
 * Reads usage reports and compares them on a separate thread, one at a time: 4 MB take a second. If the client
 * disconnects, the thread is terminated, because a busy thread cannot be interrupted.
 */
export class ReconcileThread {
  readonly #gate = new Gate(gateOptions);
  readonly #thread: WorkerThread<ReconcileMessage, ReconcileReply>;

  constructor(start = () => startThread(source, { smol: true })) {
    this.#thread = new WorkerThread({ start, lost: busy });
  }

  async reconcile(bill: ReportedSide): Promise<ReconcileResult> {
    const { signal } = bill;
    const stop = () => this.#thread.stop();
    if (!(await this.#gate.enter(signal))) throw signal.aborted ? clientGone() : busy();
    signal.addEventListener("abort", stop, { once: true });
    try {
      signal.throwIfAborted();
      return await this.#steps(bill);
    } catch (error) {
      throw signal.aborted ? clientGone() : error;
    } finally {
      signal.removeEventListener("abort", stop);
      this.#gate.leave();
    }
  }

  async #steps({ body, signal, attempts: read, providers }: ReportedSide): Promise<ReconcileResult> {
    const { request } = await this.#ask({ type: "read", body }, "request");
    let sums = 0;
    for await (const attempts of read(request)) {
      signal.throwIfAborted();
      sums += attempts.length;
      if (sums > maxSums) {
        throw invalidInput(`the ledger has more than ${maxSums} totals for these days; choose fewer days`);
      }
      await this.#ask({ type: "attempts", attempts }, "taken");
    }
    const { compared } = await this.#ask({ type: "compare", providers }, "compared");
    return { request, ...compared };
  }

  async #ask<Type extends ReconcileReply["type"]>(
    message: ReconcileMessage,
    type: Type,
  ): Promise<Extract<ReconcileReply, { type: Type }>> {
    const reply = await this.#thread.ask(message);
    // The thread replies to each message with the type of that message, or with an error.
    if (reply.type === type) return reply as Extract<ReconcileReply, { type: Type }>;
    assert(reply.type === "rejected", "the reply is of the message's type");
    const { status, code, message: text, param } = reply.rejected;
    throw new AdminError(status, code, text, param === undefined ? {} : { param });
  }
}

function busy(): OperationError {
  return new OperationError("gateway_busy", "other usage reports are being compared; retry in a minute");
}
