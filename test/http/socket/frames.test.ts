import { expect, test } from "bun:test";
import { readFrame } from "../../../src/gateway/socket/create-frame.ts";

test("what would steer a response comes back as it was written", () => {
  const event = readFrame('{"input":[1.0,{"a":1e400}],"type":"response.steer"}');
  expect(event.kind === "other" && event.answer).toContain(
    '"steer":{"previous_response_id":null,"input":[1.0,{"a":1e400}]}',
  );
});

test("a steer with bad JSON is answered in JSON, and one with a long input without it", () => {
  for (const input of ["[1,}", '{"a":}', "nul", '"\\x"', "01", '"\u0001"']) {
    for (const member of ["input", "previous_response_id"]) {
      const read = readFrame(`{"type":"response.steer","${member}":${input}}`);
      expect([input, read.kind]).toEqual([input, "problem"]);
    }
  }
  const read = readFrame(
    `{"type":"response.steer","input":"${"x".repeat(70_000)}","previous_response_id":"resp_1"}`,
  );
  const steer = { previous_response_id: "resp_1", input: null };
  expect(JSON.parse(read.kind === "other" ? read.answer : "{}")).toMatchObject({ steer });
});
