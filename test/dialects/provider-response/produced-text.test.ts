import { expect, spyOn, test } from "bun:test";
import { ChatStreamReader } from "../../../src/dialects/openai-chat/provider/stream-in.ts";
import { foundAfter } from "../../support/read-stream.ts";

test("text that comes in events of changing form is not copied again for each change", () => {
  const event = (id: string) =>
    `data: {"id":"${id}","choices":[{"index":0,"delta":{"content":"12345678901234567890"}}]}\n\n`;
  const events = (event("a").repeat(2) + event("b").repeat(2)).repeat(1000);
  const flatten = spyOn(Buffer, "byteLength");
  const found = foundAfter(new ChatStreamReader({ target: null }), events);
  const times = flatten.mock.calls.length;
  flatten.mockRestore();
  expect(found.producedChars).toBe(80_000);
  // Each copies all of the text: once for some 512 characters, and not for each of the 2000 changes.
  expect(times).toBeLessThan(200);
});
