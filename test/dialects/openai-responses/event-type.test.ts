import { expect, test } from "bun:test";
import { eventType } from "../../../src/dialects/openai-responses/event-type.ts";

const completed = "response.completed";

test.each([
  ['{"type":"response.completed","response":{}}', completed],
  [' { "sequence_number": 4, "id": "e", "type" : "response.completed", "response": {}}', completed],
  ['{"response":{"type":"response.failed","output":[{"type":"x"}]},"type":"response.completed"}', completed],
  ['{"a":[1],"type":"response\\u002ecompleted"}', completed],
  ['{"type":"response.created","response":{"output":["response.completed"]}}', "response.created"],
  ['{"delta":"{\\"type\\":\\"response.completed\\"","type":"response.delta"}', "response.delta"],
  ['{"response":{"type":"response.completed"}}', undefined],
  ['{"response":{}, "type":"response.completed"', undefined],
  ["", undefined],
])("%s is of the type %p, wherever that stands", (event, expected) => {
  expect(eventType(event)).toBe(expected as string);
});
