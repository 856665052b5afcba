import type { Clock } from "../../base/clock.ts";
import { maintainFolder } from "../../store/open.ts";
import { type RestoreResult, StoreError } from "../../store/store.ts";
import { OperationError } from "../context.ts";

const pollEveryMs = 100;

interface RestoreRequest {
  readonly dir: string;
  readonly file: string;
  /** How long a running gateway may take to drain. */
  readonly timeoutMs: number;
  /** Called before waiting for a running gateway. */
  onWaiting(): void;
}

/**
 * Replaces the data with a backup; what is replaced is kept aside. A gateway that runs on the folder drains, swaps
 * the data and continues with the copy.
 */
export async function restore(request: RestoreRequest, clock: Clock): Promise<RestoreResult> {
  const { dir, file } = request;
  const folder = await maintainFolder(dir);
  const nowMs = clock.wallMs();
  try {
    return await folder.restore(file, nowMs);
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== "in_use") throw error;
  }
  await folder.stageRestore(file, nowMs);
  request.onWaiting();
  const untilMs = clock.monotonicMs() + request.timeoutMs;
  while (folder.hasStagedRestore() && clock.monotonicMs() < untilMs) await Bun.sleep(pollEveryMs);
  if (folder.hasStagedRestore()) {
    throw new OperationError(
      "gateway_busy",
      "The gateway is still draining requests. It restores the backup when they finish.",
    );
  }
  const outcome = await folder.stagedOutcome(nowMs);
  if (!("failure" in outcome)) return outcome;
  throw new OperationError(
    "gateway_busy",
    `The gateway could not restore the backup and continues with the old data: ${outcome.failure}`,
  );
}
