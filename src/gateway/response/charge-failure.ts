import { assert } from "../../base/assert.ts";
import { noUsage } from "../../base/usage/usage.ts";
import { type FailedResponse, isBilled } from "../../dialects/errors/failure.ts";
import { ProducedOutput } from "../charge/usage-evidence.ts";
import type { PendingResponse } from "./pending-response.ts";
import { recordFailure } from "./record-response.ts";

/**
 * Charges a failed response whose usage the provider reports, before the client gets the error. Rejects with the
 * failure. A stream that the client has begun to read is charged by its pump instead.
 */
export async function chargeFailure(failing: FailingCall, error: unknown): Promise<never> {
  if (isBilled(error)) await settleFailure(failing, error);
  throw error;
}

type FailingCall = Pick<PendingResponse, "asking" | "meter">;

async function settleFailure({ asking, meter }: FailingCall, error: FailedResponse): Promise<unknown> {
  const { attempt, generation } = asking;
  const { exchange } = asking.call;
  assert(attempt !== null, "a provider has failed without an attempt");
  exchange.dropped = attempt.dropped;
  meter.noteExtras(error.extras);
  const evidence = {
    // Tokens that it does not report are not charged: the failure may have come before them.
    usage: error.usage ?? noUsage,
    partialUsage: null,
    produced: () => new ProducedOutput(),
    requestBytes: generation.request.bytes,
  };
  const stored = await recordFailure(asking.call.gateway, exchange, error);
  return meter.settle("failed", evidence, exchange.answeredWith(error.status), stored, error);
}
