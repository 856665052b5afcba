import { expect, test } from "bun:test";
import { keepaliveComment } from "../../../src/dialects/sse/sse.ts";
import { eventsIn, onStream, textOf } from "../../../src/http/socket/event-frames.ts";

const event = '{"type":"response.output_text.delta","delta":"a\\n"}';

test.each([
  ["with a name", `event: x\ndata: ${event}\n\n`, [event]],
  ["without one", `data: ${event}\n\n`, [event]],
  ["without a space", `data:${event}\n\n`, [event]],
  ["with lines that end in CR and LF", `event: x\r\ndata: ${event}\r\n\r\n`, [event]],
  ["without its blank line", `data: ${event}`, [event]],
  ["with fields behind its data", `id: 1\ndata: ${event}\nretry: 3\n\n`, [event]],
  ["in two lines", 'data: {"a":\ndata: 1}\n\n', ['{"a":\n1}']],
  ["among comments and marks", `: {}\n\ndata: ${event}\n\n: ping{}\n\ndata: [DONE]\n\nabcdef{}\n\n`, [event]],
  ["with the beginning of another behind it", `data: ${event}\n\nevent: done`, [event]],
  ["with half of another behind it", `data: ${event}\n\nevent: done\ndata: `, [event]],
  [
    "between lines that end in different ways",
    `data: ${event}\n\r\ndata: ${event}\r\n\rdata: ${event}\n\r: x`,
    [event, event, event],
  ],
  ["behind one that was cut off", `data: {"type":"respon\n\nevent: x\ndata: ${event}\n\n`, [event]],
  ["with spaces around it", `data:  ${event} \n\n`, [event]],
  [
    "behind a short one as long as a name",
    `event: ab\ndata: ${event}\n\ndata: {}\n\ndata: ${event}\n\n`,
    [event, "{}", event],
  ],
  ["twice", `data: ${event}\n\ndata: ${event}\n\n`, [event, event]],
])("an event %s is one frame", (_what, piece, expected) => {
  expect(eventsIn(piece)).toEqual(expected);
  expect(textOf(new TextEncoder().encode(piece))).toBe(piece);
});

test("a byte order mark hides no event", () => {
  const marked = `\ufeffdata: ${event}\n\n`;
  expect(eventsIn(textOf(new TextEncoder().encode(marked)))).toEqual([event]);
  expect(eventsIn(textOf(new TextEncoder().encode(marked.repeat(3))))).toEqual([event, event, event]);
});

test("a heartbeat before the first event is a keepalive, and a stream's name stands in every event", () => {
  expect(eventsIn(keepaliveComment)).toEqual(['{"type":"keepalive","sequence_number":0}']);
  expect(JSON.parse(onStream(event, "a"))).toEqual({ stream_id: "a", ...JSON.parse(event) });
});
