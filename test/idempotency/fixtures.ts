import { newId } from "../../src/base/id.ts";
import type { ClaimRequest } from "../../src/idempotency/claims.ts";
import { Idempotency } from "../../src/idempotency/idempotency.ts";
import type { KeyRecord } from "../../src/store/store.ts";
import { type Bench, holdFor, settlement } from "../ledger/fixtures.ts";

export function requestOf(key: KeyRecord, overrides: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    keyId: key.id,
    route: "/v1/chat/completions",
    idempotencyKey: "once",
    bodyHash: "hash of the body",
    exchangeId: newId("req_"),
    ...overrides,
  };
}

/** What a key may keep in all, unless a test says otherwise. */
export const usualKeyBytes = 256 * 1024 * 1024;

export function newIdempotency({ store, clock }: Pick<Bench, "store" | "clock">): Idempotency {
  return new Idempotency({ store, clock });
}

/** The whole way of a request that may be a repetition: what was answered, and whether it ran for it. */
export async function serve(
  { ledger }: Pick<Bench, "ledger">,
  idempotency: Idempotency,
  key: KeyRecord,
  request: ClaimRequest,
  chunks: readonly Uint8Array[],
  keyBytes = usualKeyBytes,
): Promise<{ readonly body: Uint8Array; readonly ran: boolean }> {
  const result = await idempotency.claim(request);
  if (result.kind === "replay") return { body: result.response.body, ran: false };
  const recorder = idempotency.record(result.claim, keyBytes);
  const hold = holdFor(ledger, key, 10);
  for (const chunk of chunks) recorder.append(chunk);
  const response = await recorder.finish({ status: 200, headers: { "content-type": "text/event-stream" } });
  await ledger.settle(hold, settlement(hold, 10, { response }));
  idempotency.end(result.claim);
  return { body: Buffer.concat(chunks), ran: true };
}
