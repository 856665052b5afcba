import type { JsonObject } from "../../../base/json.ts";
import type { WriterContext } from "../../contract/client-dialect.ts";
import type { IrAssistantBlock, IrFinish, IrResponse } from "../../ir/ir.ts";
import { completedAt, requestEcho, responseHead } from "./envelope-out.ts";
import {
  type AnswerPart,
  callItem,
  callItemPrefix,
  completeInput,
  type ItemStatus,
  incompleteReason,
  messageItem,
  reasoningItem,
} from "./items-out.ts";

export function writeResponse(response: IrResponse, call: WriterContext): JsonObject {
  const { nowSeconds, body, model, kept } = call.source;
  const incomplete = incompleteReason(response.finish.reason);
  const head = responseHead(call.mint("resp_"), nowSeconds, {
    status: incomplete === null ? "completed" : "incomplete",
    completedAtSeconds: incomplete === null ? completedAt(call) : null,
    incomplete,
    usage: response.usage,
    serviceTier: response.serviceTier,
  });
  return { ...head, output: writeOutput(response, call), ...requestEcho(body, model, kept) };
}

/** The explanation of a refusal without any refusal text, which becomes that text. */
export function unwrittenRefusal(finish: IrFinish, refused: boolean): string | null {
  return finish.reason === "refusal" && !refused ? finish.explanation : null;
}

function writeOutput({ blocks, finish }: IrResponse, call: WriterContext): JsonObject[] {
  const explanation = unwrittenRefusal(
    finish,
    blocks.some((block) => block.type === "refusal"),
  );
  const all: readonly IrAssistantBlock[] =
    explanation === null ? blocks : [...blocks, { type: "refusal", text: explanation }];
  const runs = groupResponses(all);
  const lastStatus = incompleteReason(finish.reason) === null ? "completed" : "incomplete";
  return runs.map((run, at) => writeRun(run, at === runs.length - 1 ? lastStatus : "completed", call));
}

type Run = AnswerPart[] | Exclude<IrAssistantBlock, AnswerPart>;

/** Adjacent texts and refusals are parts of one message. */
function groupResponses(blocks: readonly IrAssistantBlock[]): Run[] {
  const runs: Run[] = [];
  for (const block of blocks) {
    if (block.type !== "text" && block.type !== "refusal") {
      runs.push(block);
      continue;
    }
    const last = runs.at(-1);
    if (Array.isArray(last)) last.push(block);
    else runs.push([block]);
  }
  return runs;
}

function writeRun(run: Run, status: ItemStatus, call: WriterContext): JsonObject {
  if (Array.isArray(run)) return messageItem(call.mint("msg_"), status, run);
  if (run.type === "reasoning") return reasoningItem(call.mint("rs_"), run.parts, run.signature);
  const input = completeInput(run.kind, run.input);
  return callItem(call.mint(callItemPrefix(run.kind)), status, run, input);
}
