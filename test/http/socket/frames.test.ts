import { expect, test } from "bun:test";
import { readFrame } from "../../../src/gateway/socket/create-frame.ts";
import { endsResponse } from "../../../src/http/socket/event-frames.ts";

test("an event ends a response by its type, not by a text that is called so", () => {
  expect(endsResponse('{"type":"response.completed","sequence_number":4,"response":{}}')).toBe("completed");
  expect(endsResponse('{"sequence_number":4, "type": "response.incomplete","response":{}}')).toBe(
    "completed",
  );
  expect(endsResponse('{"type":"response.failed","response":{}}')).toBe("failed");
  for (const said of ["response.completed", "response.failed", '{"type":"response.completed"}']) {
    const event = {
      type: "response.output_text.delta",
      item_id: "msg_1",
      delta: said,
      obfuscation: "response",
    };
    expect(endsResponse(JSON.stringify(event))).toBeNull();
  }
});

test("what would steer a response comes back as it was written, without being parsed", () => {
  const event = readFrame('{"input":[1.0,{"a":1e400}],"type":"response.steer"}');
  expect(event.kind === "other" && event.answer).toContain(
    '"steer":{"previous_response_id":null,"input":[1.0,{"a":1e400}]}',
  );
});
