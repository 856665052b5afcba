import { expect, spyOn, test } from "bun:test";
import { ChatScanner } from "../../../src/dialects/openai-chat/provider/stream-scanner.ts";

test("text that comes in events of changing form is not copied again for each change", () => {
  const event = (id: string) =>
    `data: {"id":"${id}","choices":[{"index":0,"delta":{"content":"12345678901234567890"}}]}\n\n`;
  const events = Buffer.from((event("a").repeat(2) + event("b").repeat(2)).repeat(1000));
  const scanner = new ChatScanner({ hideUsage: false });
  const flatten = spyOn(Buffer, "byteLength");
  scanner.pass(events);
  const times = flatten.mock.calls.length;
  flatten.mockRestore();
  expect(scanner.producedChars).toBe(80_000);
  // Each copies all of the text: once for some 512 characters, and not for each of the 2000 changes.
  expect(times).toBeLessThan(200);
});
