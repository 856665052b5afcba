import type { GatewayError } from "../../../base/errors.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import type { FailedStart, Target } from "../../contract/provider-dialect.ts";
import { hasQuirk } from "../../contract/quirks.ts";
import {
  failedResponse,
  malformedResponse,
  reportedFailure,
  unexplainedFailure,
} from "../../errors/failure.ts";
import type { IrEvent } from "../../ir/ir.ts";
import { firstObjectOf, isZero, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { readAsStream } from "../../provider-response/read-whole.ts";
import { failureMarks, isFailedFinish, readFinish } from "../finish.ts";
import { callsOf, contentOf, isFailure, reasoningOf } from "./delta-in.ts";
import { ChatStreamReader } from "./stream-in.ts";
import { usageReader } from "./usage-in.ts";

/** Reads the first choice, whose message is treated as the delta of a stream's only chunk. */
export function readResponse(body: JsonObject, target: Target): readonly IrEvent[] {
  const failure = failureIn(body);
  if (failure !== null) throw failure;
  const choice = choiceOf(body, target);
  if (choice === null) throw malformedResponse("a chat completion without a choice");
  const { finish_reason: reason } = choice;
  const delta = deltaOf(objectOf(choice["message"]) ?? {});
  const isExplained = isFailedFinish(reason) || readFinish(reason) !== null;
  if (!hasContent(delta) && !isFailedFinish(reason) && !mayBeEmpty(choice))
    throw malformedResponse("an empty chat completion");
  // Some servers do not say why an answer has ended.
  const choices = [{ delta, finish_reason: isExplained ? (reason ?? null) : "stop" }];
  const chunk = { ...body, choices };
  return readAsStream(new ChatStreamReader({ target }), [["", chunk]], usageReader.usageIn(body));
}

/** Each call of a message is complete, with any index and id. */
function deltaOf({ tool_calls: calls, function_call: legacy = null, ...message }: JsonObject): JsonObject {
  const called = isZero(legacy) ? objectsOf(calls) : [...objectsOf(calls), { function: legacy }];
  return { ...message, tool_calls: called.map((call, index) => ({ ...call, index })) };
}

function hasContent(delta: JsonObject): boolean {
  const refusal = stringOf(delta["refusal"]) ?? "";
  return contentOf(delta) + reasoningOf(delta) + refusal !== "" || callsOf(delta).length > 0;
}

/** Azure's filter omits the whole message. A model with nothing to say still reports that it stops. */
function mayBeEmpty({ message, finish_reason: reason }: JsonObject): boolean {
  const finish = readFinish(reason);
  if (finish === null) return false;
  return isObject(message) || (finish.reason !== "stop" && finish.reason !== "tool_calls");
}

export function failureIn(body: JsonObject): GatewayError | null {
  return isFailure(body) ? reportedFailure(body, usageReader) : null;
}

/** Copilot sends text and calls of one response as two choices. */
function choiceOf(body: JsonObject, target: Target): JsonObject | null {
  const first = firstObjectOf(body["choices"]);
  if (first === null || !hasQuirk(target, "split_choices")) return first;
  const all = objectsOf(body["choices"]);
  if (all.length < 2) return first;
  const messages = all.map((choice) => objectOf(choice["message"]) ?? {});
  const message = {
    role: "assistant",
    content: messages.map(contentOf).join(""),
    tool_calls: messages.flatMap((each) => objectsOf(each["tool_calls"])),
  };
  return { ...first, ...all.at(-1), message };
}

/** A first chunk that only reports the failure of the response. */
export const failedStart: FailedStart = {
  marks: failureMarks,
  failureIn(chunk) {
    const choice = firstObjectOf(chunk["choices"]);
    const delta = objectOf(choice?.["delta"]) ?? {};
    if (hasContent(delta) || !isFailedFinish(choice?.["finish_reason"])) return null;
    return failedResponse(unexplainedFailure(), usageReader.usageIn(chunk), usageReader.readExtras(chunk));
  },
};
