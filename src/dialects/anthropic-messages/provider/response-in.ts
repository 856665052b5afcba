import type { GatewayError } from "../../../base/errors.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import { malformedResponse, reportedFailure } from "../../errors/failure.ts";
import type { IrEvent } from "../../ir/ir.ts";
import { isZero, objectsOf, stringOf } from "../../json/json-fields.ts";
import { readAsStream } from "../../provider-response/read-whole.ts";
import { headOf, MessagesStreamReader } from "./stream-in.ts";
import { readUsage, usageReader } from "./usage-in.ts";

/** Reads complete blocks as the events with which a stream would begin and end them. */
export function readResponse(body: JsonObject, target: Target): readonly IrEvent[] {
  const failure = failureIn(body);
  if (failure !== null) throw failure;
  const { content, ...message } = body;
  if (!Array.isArray(content)) throw malformedResponse("a message without content");
  const blocks = objectsOf(content);
  // Some servers do not say why an answer has ended.
  const ended = stringOf(body["stop_reason"]) || (blocks.some(headOf) ? "end_turn" : null);
  if (ended === null) throw malformedResponse("an empty message without a stop_reason");
  const events = [
    ["message_start", { message }] as const,
    ...blocks.flatMap(eventsOf),
    ["message_delta", { delta: { ...message, stop_reason: ended } }] as const,
    ["message_stop", {}] as const,
  ];
  return readAsStream(new MessagesStreamReader({ target }), events, readUsage(body["usage"]));
}

/** In a stream the signature follows the text. */
function eventsOf(block: JsonObject, index: number) {
  const delta = block["type"] === "thinking" ? { signature: stringOf(block["signature"]) ?? "" } : {};
  return [
    ["content_block_start", { index, content_block: block }],
    ["content_block_delta", { index, delta }],
    ["content_block_stop", { index }],
  ] as const;
}

export function failureIn(body: JsonObject): GatewayError | null {
  const hasFailed = body["type"] === "error" || (isObject(body["error"]) && !isZero(body["error"]));
  return hasFailed ? reportedFailure(body, usageReader) : null;
}
