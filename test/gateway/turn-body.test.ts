import { expect, test } from "bun:test";
import { describeItem } from "../../src/dialects/openai-responses/client/turn-items.ts";
import { readTurn, turnPieces } from "../../src/gateway/turns/turn-body.ts";

const head = Buffer.from('{"id":"resp_1"}');
const text = '{"role":"user","content":"Hello"}';
const call = '{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}';
const thought = '{"id":"rs_1","type":"reasoning","summary":[]}';
const itemOf = (json: string) => describeItem(Buffer.from(json));

function read(pieces: Iterable<Uint8Array>, key: Uint8Array | null = null) {
  return readTurn("resp_1", Buffer.concat([...pieces]), key);
}

test.each([
  ["plain", null],
  ["encrypted", new Uint8Array(32).fill(7)],
])("a turn is read as it was written (%s)", async (_, key) => {
  const content = { head, input: [itemOf(call)], output: [itemOf(thought), itemOf(text)] };
  const found = await read(turnPieces("resp_1", content, key), key);
  expect(JSON.stringify(found)).toBe(JSON.stringify(content));
});

test("an encrypted turn means nothing in the place of another", async () => {
  const key = new Uint8Array(32).fill(7);
  const content = { head, input: [itemOf(text)], output: [] };
  expect(await read(turnPieces("resp_1", content, key), key)).not.toBeNull();
  expect(await read(turnPieces("resp_2", content, key), key)).toBeNull();
});

test("what was sent without an id has one of its group, and what was answered has none", async () => {
  const content = { head, input: [itemOf(text), itemOf(call), itemOf(text)], output: [itemOf(text)] };
  const found = await read(turnPieces("resp_1", content, null, "item_group"));
  expect(found?.input.map(({ id }) => id)).toEqual(["item_group000000", "fc_1", "item_group000002"]);
  expect(found?.output.map(({ id }) => id)).toEqual([null]);
});
