import { expect, test } from "bun:test";
import { readFrame } from "../../../src/gateway/socket/create-frame.ts";

test("what would steer a response comes back as it was written, without being parsed", () => {
  const event = readFrame('{"input":[1.0,{"a":1e400}],"type":"response.steer"}');
  expect(event.kind === "other" && event.answer).toContain(
    '"steer":{"previous_response_id":null,"input":[1.0,{"a":1e400}]}',
  );
});
