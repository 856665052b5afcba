import type { GatewayError } from "../../../base/errors.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import type { FailedStart, Target } from "../../contract/provider-dialect.ts";
import { hasQuirk } from "../../contract/quirks.ts";
import { failedAnswer, malformedAnswer, reportedFailure, unexplainedFailure } from "../../errors/failure.ts";
import { citing, unsaidFinish } from "../../ir/answer-parts.ts";
import type { IrAssistantBlock, IrFinish, IrResponse } from "../../ir/ir.ts";
import { firstObjectOf, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { googleSignature } from "../../reasoning/google-signature.ts";
import { failureMarks, isFailedFinish, readFinish } from "../finish.ts";
import {
  callsOf,
  chatSignature,
  citationsOf,
  contentOf,
  detailsIn,
  isFailure,
  reasoningOf,
  tierIn,
} from "./delta-in.ts";
import { splitThinkTags } from "./think-tags.ts";
import { figures } from "./usage-in.ts";

export function readResponse(body: JsonObject, target: Target): IrResponse {
  const failure = failureIn(body);
  if (failure !== null) throw failure;
  const choice = choiceOf(body, target);
  if (choice === null) throw malformedAnswer("a chat completion without a choice");
  const usage = figures.usageIn(body);
  if (isFailedFinish(choice["finish_reason"]))
    throw failedAnswer(unexplainedFailure(), usage, figures.readExtras(body));
  const blocks = readBlocks(objectOf(choice["message"]) ?? {}, target);
  const finish = readFinish(choice["finish_reason"]) ?? unsaidFinish;
  if (blocks.length === 0 && !mayBeEmpty(choice, finish)) throw malformedAnswer("an empty chat completion");
  return { blocks, finish, usage, serviceTier: tierIn(body) };
}

/** Azure's filter leaves out the message as a whole. A model that has nothing to say has said that it stops. */
function mayBeEmpty(choice: JsonObject, finish: IrFinish): boolean {
  if (finish === unsaidFinish) return false;
  return isObject(choice["message"]) || (finish.reason !== "stop" && finish.reason !== "tool_calls");
}

export function failureIn(body: JsonObject): GatewayError | null {
  return isFailure(body) ? reportedFailure(body, figures) : null;
}

/** Copilot sends text and calls of one answer as two choices. */
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

function readBlocks(message: JsonObject, target: Target): IrAssistantBlock[] {
  const blocks: IrAssistantBlock[] = [];
  const content = contentOf(message);
  const split = splitThinkTags(content);
  const reasoning = reasoningOf(message) + split.reasoning;
  const details = hasQuirk(target, "reasoning_details") ? detailsIn(message) : [];
  if (reasoning !== "" || details.length > 0) {
    blocks.push({ type: "reasoning", parts: [reasoning], signature: chatSignature(details) });
  }
  const citations = citationsOf(message, split.text !== content);
  if (split.text !== "") blocks.push({ type: "text", text: split.text, ...citing(citations) });
  const refusal = stringOf(message["refusal"]) ?? "";
  if (refusal !== "") blocks.push({ type: "refusal", text: refusal });
  for (const call of callsOf(message)) {
    if (call.name === null) throw malformedAnswer("a tool call without a name");
    if (call.signature !== null) {
      blocks.push({ type: "reasoning", parts: [], signature: googleSignature(call.signature, target) });
    }
    blocks.push({
      type: "tool_call",
      id: call.id ?? "",
      kind: call.custom ? "custom" : "function",
      namespace: null,
      name: call.name,
      input: call.input === "" && !call.custom ? "{}" : call.input,
    });
  }
  return blocks;
}

/** The first chunk reports only that the answer has failed. */
export const failedStart: FailedStart = {
  marks: failureMarks,
  failureIn(chunk) {
    const choice = firstObjectOf(chunk["choices"]);
    const delta = objectOf(choice?.["delta"]) ?? {};
    const hasContent = contentOf(delta) !== "" || reasoningOf(delta) !== "" || callsOf(delta).length > 0;
    if (hasContent || !isFailedFinish(choice?.["finish_reason"])) return null;
    return failedAnswer(unexplainedFailure(), figures.usageIn(chunk), figures.readExtras(chunk));
  },
};
