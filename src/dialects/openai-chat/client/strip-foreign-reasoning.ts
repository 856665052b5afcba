import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { listOf, objectsOf } from "../../json/json-fields.ts";
import { isReasoningEnvelope } from "../../reasoning/reasoning-envelope.ts";
import { signatureIn } from "../tool-call.ts";

/** Returns the same body if there is nothing to strip. */
export function stripForeignReasoning(body: JsonObject): JsonObject {
  const messages = listOf(body["messages"]);
  const cleaned = messages.map(cleanMessage);
  return cleaned.every((message, index) => message === messages[index])
    ? body
    : { ...body, messages: cleaned };
}

function cleanMessage(message: Json): Json {
  if (!isObject(message) || !Array.isArray(message["tool_calls"])) return message;
  if (!message["tool_calls"].some(holdsEnvelope)) return message;
  return { ...message, tool_calls: message["tool_calls"].map(cleanCall) };
}

function cleanCall(call: Json): Json {
  if (!holdsEnvelope(call)) return call;
  const { extra_content: _, ...rest } = call;
  return rest;
}

/** A call that can only be continued with its signature. */
export function holdsState(body: JsonObject): boolean {
  return objectsOf(body["messages"]).some(({ tool_calls: calls }) =>
    objectsOf(calls).some((call) => signatureIn(call) !== null),
  );
}

function holdsEnvelope(call: Json): call is JsonObject {
  return isObject(call) && isReasoningEnvelope(signatureIn(call) ?? "");
}
