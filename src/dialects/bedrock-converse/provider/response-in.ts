import { isObject, type JsonObject } from "../../../base/json.ts";
import { malformedResponse, reportedFailure } from "../../errors/failure.ts";
import type { IrEvent } from "../../ir/ir.ts";
import { objectOf, objectsOf } from "../../json/json-fields.ts";
import { readAsStream } from "../../provider-response/read-whole.ts";
import { usageReader } from "./ending-in.ts";
import { ConverseStreamReader } from "./stream-in.ts";

/** Its blocks, whole, as a stream would begin and end them. */
export function readResponse(body: JsonObject): readonly IrEvent[] {
  if (isObject(body["error"])) throw reportedFailure(body, usageReader);
  const { stopReason = null, ...metadata } = body;
  const content = objectOf(objectOf(body["output"])?.["message"])?.["content"];
  if (!Array.isArray(content)) throw malformedResponse("no message");
  const blocks = objectsOf(content).flatMap(partsOf);
  const events = blocks.flatMap((block, index) => eventsOf(block, index));
  const ends = [["messageStop", { stopReason }] as const, ["metadata", metadata] as const];
  return readAsStream(new ConverseStreamReader(), [...events, ...ends], usageReader.usageIn(body));
}

/** A text with citations is a list of texts. */
function partsOf(block: JsonObject): readonly JsonObject[] {
  const cited = objectOf(block["citationsContent"]);
  return cited === null ? [block] : objectsOf(cited["content"]);
}

/** Unexpected blocks, such as images, are skipped. */
function eventsOf(block: JsonObject, contentBlockIndex: number) {
  const call = objectOf(block["toolUse"]);
  const { reasoningText, ...redacted } = objectOf(block["reasoningContent"]) ?? {};
  const delta: JsonObject =
    call !== null
      ? { toolUse: { input: JSON.stringify(objectOf(call["input"]) ?? {}) } }
      : isObject(block["reasoningContent"])
        ? { reasoningContent: { ...redacted, ...objectOf(reasoningText ?? null) } }
        : typeof block["text"] === "string"
          ? { text: block["text"] }
          : {};
  return [
    ["contentBlockStart", { contentBlockIndex, start: { toolUse: call } }],
    ["contentBlockDelta", { contentBlockIndex, delta }],
    ["contentBlockStop", { contentBlockIndex }],
  ] as const;
}
