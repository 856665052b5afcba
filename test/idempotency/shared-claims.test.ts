import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { ClaimRequest } from "../../src/idempotency/claims.ts";
import { SharedClaims } from "../../src/idempotency/shared-claims.ts";
import { type ClaimOrder, type ClaimVerdict, NodeUnavailable } from "../../src/store/node.ts";
import type { Store, StoredResponse } from "../../src/store/store.ts";
import { responseOf } from "../store/responses.ts";
import { FakeClock } from "../support/clock.ts";

const request: ClaimRequest = {
  keyId: "key_1",
  route: "/v1/messages",
  idempotencyKey: "once",
  bodyHash: "hash",
  exchangeId: "req_1",
};

/** Claims over a node that gives these verdicts in turn, and a store that has this response. */
function claimsOver(verdicts: readonly (ClaimVerdict | Error)[], stored: StoredResponse | null = null) {
  const asked: ClaimOrder[] = [];
  const ended: string[] = [];
  const store: Pick<Store, "findStoredResponse"> = { findStoredResponse: async () => stored };
  const claims = new SharedClaims({
    // Nothing else is used of it here.
    store: store as Store,
    clock: new FakeClock(),
    node: {
      claim: async (order) => {
        const verdict = verdicts[asked.length];
        asked.push(order);
        if (verdict === undefined || verdict instanceof Error) throw verdict ?? new Error("asked too often");
        return verdict;
      },
      endClaim: ({ exchangeId }) => void ended.push(exchangeId),
    },
  });
  return { claims, asked, ended };
}

async function codeOf(claiming: Promise<unknown>): Promise<string> {
  const error = await claiming.catch((thrown: unknown) => thrown);
  return error instanceof GatewayError ? error.code : String(error);
}

describe("shared claims", () => {
  test("run what nobody else runs, and are given back once", async () => {
    const { claims, ended } = claimsOver(["run"]);
    const result = await claims.claim(request);
    if (result.kind !== "run") throw new Error("it must run");
    expect(claims.running).toBe(1);
    claims.end(result.claim);
    claims.end(result.claim);
    expect(claims.running).toBe(0);
    expect(ended).toEqual(["req_1"]);
  });

  test("refuse what runs elsewhere, or was used with another body", async () => {
    expect(await codeOf(claimsOver(["running"]).claims.claim(request))).toBe("idempotency_in_flight");
    expect(await codeOf(claimsOver(["conflict"]).claims.claim(request))).toBe("idempotency_conflict");
  });

  test("replay what was stored", async () => {
    const stored = responseOf("key_1");
    const { claims, asked } = claimsOver(["replay"], stored);
    expect(await claims.claim(request)).toEqual({ kind: "replay", response: stored });
    expect(claims.running).toBe(0);
    expect(asked).toHaveLength(1);
  });

  test("run again what was stored in part only", async () => {
    const { claims, asked } = claimsOver(["replay", "run"]);
    expect(await claims.claim(request)).toMatchObject({ kind: "run" });
    expect(asked.map(({ notBeforeMs }) => notBeforeMs)).toEqual([
      asked[0]?.notBeforeMs ?? 0,
      Number.MAX_SAFE_INTEGER,
    ]);
  });

  test("answer 503 while the database does not answer, and pass on what else goes wrong", async () => {
    expect(await codeOf(claimsOver([new NodeUnavailable()]).claims.claim(request))).toBe(
      "service_unavailable",
    );
    await expect(claimsOver([new Error("a bug")]).claims.claim(request)).rejects.toThrow("a bug");
  });
});
