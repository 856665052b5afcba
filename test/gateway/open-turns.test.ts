import { expect, spyOn, test } from "bun:test";
import { LoopPacer } from "../../src/base/loop/pacer.ts";
import { opened } from "../../src/gateway/turns/open-turns.ts";
import type { StoredTurn } from "../../src/store/store.ts";

test("turns that are stored as they came are split a few at a time, however short their responses are", async () => {
  const request = Buffer.from(JSON.stringify({ model: "m", input: "x".repeat(16_000) }));
  const body = Buffer.from(JSON.stringify({ id: "resp_1", status: "completed", output: [] }));
  const turn = (no: number): StoredTurn => ({
    no,
    id: `resp_${no}`,
    parentId: null,
    bytes: request.length + body.length,
    body,
    request,
    endBytes: body.length,
    recording: null,
  });
  const pauses = spyOn(LoopPacer.prototype, "wait");
  const turns = await opened(
    Array.from({ length: 200 }, (_, no) => turn(no)),
    {
      responses: { encryptionKey: null },
    },
  );
  const count = pauses.mock.calls.length;
  pauses.mockRestore();
  expect(turns).toHaveLength(200);
  expect(count).toBe(40);
});
