import { serveRequests } from "../../base/threads/worker-thread.ts";
import type { AttemptSums } from "../../store/store.ts";
import { expectedError } from "../formats/admin-error.ts";
import { checkedBytes } from "../routes/check.ts";
import { comparedDays, defaultTolerance, reportFromFiles } from "./reconcile.ts";
import { type ReconciliationRequest, reconciliation } from "./reconciliation.ts";
import { type ReconcileBody, reconcileBody } from "./schema.ts";
import type {
  ComparisonResult,
  ReconcileMessage,
  ReconcileReply,
  RequestedReconciliation,
} from "./thread-messages.ts";

/** A year of a hundred models is 37,000. Each is about 700 bytes of the response. */
const maxRows = 50_000;

let request: ReconciliationRequest | null = null;
let attempts: AttemptSums[] = [];

/** One reconciliation at a time; each begins with its body. */
serveRequests(replyTo, { collects: true });

function replyTo(message: ReconcileMessage): ReconcileReply {
  try {
    switch (message.type) {
      case "read":
        return { type: "request", request: read(message.body) };
      case "attempts":
        attempts.push(...message.attempts);
        return { type: "taken" };
      case "compare":
        return { type: "compared", compared: compared(message) };
    }
  } catch (error) {
    const expected = expectedError(error);
    if (expected === null) throw error;
    const { status, code, message: text, param } = expected;
    return { type: "rejected", rejected: { status, code, message: text, param } };
  }
}

function read(bytes: Uint8Array): RequestedReconciliation {
  request = null;
  attempts = [];
  const body = checkedBytes(reconcileBody, bytes) as ReconcileBody;
  const { provider, from, to, files = [], figures, tolerance = defaultTolerance } = body;
  const days = comparedDays(from, to);
  const bill = reportFromFiles(
    files.map((file, index) => (typeof file === "string" ? { name: `files[${index}]`, text: file } : file)),
    figures,
  );
  request = { provider, tolerance, bill, ...days };
  return { provider, from, to, ...days };
}

function compared({ providers }: Extract<ReconcileMessage, { type: "compare" }>): ComparisonResult {
  if (request === null) throw new Error("a report must be read before it is compared");
  const view = reconciliation(request, { attempts, providers }, maxRows);
  request = null;
  attempts = [];
  const json = new TextEncoder().encode(JSON.stringify(view));
  return { json, rows: view.data.length, differing: view.differing };
}
