import { describe, expect, test } from "bun:test";
import { OpenBatch } from "../../../src/gateway/batches/open-batch.ts";
import type { BatchRecord } from "../../../src/store/store.ts";

const hour = 3_600_000;
const moment = { wallMs: 10 * hour, monotonicMs: 1000 };

/** As a process finds it in the store. It has waited for nine hours, and has fifteen until it expires. */
function found(waitsFor: string, changes: Partial<BatchRecord> = {}): OpenBatch {
  const shown = {
    ...{ id: "batch_1", keyId: "key_1", createdAtMs: hour, expiresAtMs: 25 * hour, isPaused: false },
    ...{ waitsFor, waitsSinceMs: hour, ...changes },
  };
  const parts = { path: "/v1/responses", request: {}, input: {} };
  return new OpenBatch(shown as BatchRecord, parts as ConstructorParameters<typeof OpenBatch>[1], moment);
}

const hasWaited = (batch: OpenBatch) => batch.hasWaited(hour, moment.monotonicMs);

describe("a batch that has waited for longer than it may", () => {
  test.each(["balance", "key_cap"])(
    "goes on waiting for its %s after a restart until a line was tried",
    (what) => {
      const batch = found(what);
      expect(hasWaited(batch)).toBe(false);
      batch.resetsAtMs = moment.monotonicMs + 14 * hour;
      expect(hasWaited(batch)).toBe(false);
      batch.resetsAtMs = moment.monotonicMs + 15 * hour;
      expect(hasWaited(batch)).toBe(true);
      batch.resetsAtMs = null;
      expect(hasWaited(batch)).toBe(true);
    },
  );

  test("needs no try if its key has no space", () => {
    expect(hasWaited(found("storage"))).toBe(true);
    expect(hasWaited(found("storage", { isPaused: true }))).toBe(false);
    expect(hasWaited(found("storage", { waitsSinceMs: moment.wallMs }))).toBe(false);
  });

  test.each(["key", "provider"])("waits for its %s as long as it is open", (what) => {
    const batch = found(what);
    batch.resetsAtMs = null;
    expect(hasWaited(batch)).toBe(false);
  });
});
