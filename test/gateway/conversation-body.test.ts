import { expect, test } from "bun:test";
import { describeItem } from "../../src/dialects/openai-responses/client/turn-items.ts";
import {
  planConversation,
  readConversation,
  readEnd,
  writtenConversation,
} from "../../src/gateway/turns/conversation-body.ts";
import type { StoredTurn } from "../../src/store/store.ts";

const key = new Uint8Array(32).fill(7);
const head = Buffer.from('{"id":"conv_1"}');
/** More than is written again with each change. */
const items = Array.from({ length: 5 }, (_, no) =>
  describeItem(Buffer.from(`{"id":"msg_${no}","role":"user","content":"${"x".repeat(10_000)}"}`)),
);

async function stored(sealedWith: Uint8Array | null, written = items): Promise<StoredTurn> {
  const parts: Uint8Array[] = [];
  const conversation = { id: "conv_1", no: null, head, items: written };
  const plan = planConversation(conversation);
  const { body, bytes, recording } = await writtenConversation(
    conversation,
    plan,
    sealedWith,
    async (part) => {
      parts.push(part.body);
    },
  );
  const whole = Buffer.concat([...parts, body]);
  expect(bytes).toBe(whole.length);
  const common = { id: "conv_1", parentId: null, no: 1, request: null };
  return { ...common, bytes, body: whole, endBytes: body.length, recording: recording ?? null };
}

test.each([
  ["plain without a key", null, null, true],
  ["encrypted with the key", key, key, true],
  // The next change writes all of it again, encrypted.
  ["plain from before there was a key", null, key, false],
])(
  "what was written ahead is kept by the next change if it is %s",
  async (_, sealedWith, readWith, isKept) => {
    const found = await readConversation(await stored(sealedWith), readWith);
    expect(found?.input).toEqual(items);
    const changed = [
      ...(found?.input ?? []),
      describeItem(Buffer.from('{"id":"msg_new","role":"user","content":"y"}')),
    ];
    const { layout } = found ?? {};
    const plan = planConversation({ id: "conv_1", no: 1, head, items: changed, layout });
    expect(plan.kept.ahead).toHaveLength(isKept ? 5 : 0);
    expect([plan.ahead.length, plan.end.length]).toEqual(isKept ? [0, 1] : [6, 0]);
  },
);

test("the end of a conversation is read of its row alone, and no other bytes count as one", async () => {
  const whole = await stored(key);
  const end = whole.body.subarray(whole.body.length - whole.endBytes);
  expect((await readEnd({ ...whole, body: end }, key))?.layout.frames).toMatchObject([{ items: 5 }]);
  const missesPart = { ...whole, bytes: whole.bytes - 1, body: end };
  expect(await readEnd(missesPart, key)).toBeNull();
  for (const length of [0, 1, 4, 12]) {
    const cut = end.subarray(0, length);
    const bytes = whole.bytes - whole.endBytes + length;
    expect(await readEnd({ ...whole, bytes, body: cut }, key)).toBeNull();
  }
});
