import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { FileQuota, QuotaProblem } from "../../store/store.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";

/** Rejects what could not run a line now as a request would be: before a body is read, and before anything is stored. */
export async function rejectBeyondLimits({
  gateway,
  key,
  keyId,
  configured,
  exchange,
}: AdmittedCall): Promise<void> {
  const isFree = configured.catalog.modelsFor(key).some(({ free }) => free);
  if (isFree) return;
  const { accounts } = gateway;
  const labels = { requestedModel: null, labels: null };
  try {
    accounts.release(
      await accounts.hold({ keyId, exchangeId: exchange.id, model: "", amount: 1, ...labels }),
    );
  } catch (error) {
    // What other calls have reserved may be free soon.
    if (!(error instanceof GatewayError) || error.code !== "balance_temporarily_reserved") throw error;
  }
}

/** Why a key cannot store more. */
export function quotaError(problem: QuotaProblem, { bytesPerKey, filesPerKey }: FileQuota): GatewayError {
  switch (problem) {
    case "bytes":
      return invalidRequest(
        `This key's files, batches and results take all of its ${bytesPerKey} bytes. Delete files that you do not need.`,
      );
    case "files":
      return invalidRequest(
        `This key has ${filesPerKey} files, which is its limit. Delete files that you do not need.`,
      );
    case "batches":
      return invalidRequest(
        `This key has ${filesPerKey} batches, which is its limit. Wait until the oldest ones are deleted.`,
      );
  }
}
