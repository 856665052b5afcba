import { type Answer, json, sse } from "../../support/answers.ts";
import type { SeenRequest } from "../../support/provider.ts";
import { complain } from "../conversation/dialect.ts";
import { streamResponse } from "../conversation/responses-answer.ts";
import type { Turn } from "../conversation/scenario.ts";
import type { Errand } from "./errand.ts";

const usage = { input: 1000, cached: 400, output: 50 };

function itemOf(content: string) {
  return { id: "cmp_upstream", type: "compaction", encrypted_content: content };
}

/** The route's answer, as OpenAI gives it by itself. */
export const compaction: Answer = json({
  id: "resp_compacted",
  object: "response.compaction",
  created_at: 1794700000,
  output: [itemOf("gAAAAcompacted")],
  usage: {
    input_tokens: 1000,
    input_tokens_details: { cached_tokens: 400, cache_write_tokens: 0 },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 1050,
  },
});

export function isTriggered({ text }: SeenRequest): boolean {
  return text.includes('"compaction_trigger"');
}

/** The stream of a response whose only item is the compaction, as OpenAI answers to a trigger. */
export function triggeredCompaction(request: SeenRequest, errand: Errand): Answer {
  const turn = summaryTurn(request, errand);
  const frames = streamResponse({ ...turn, says: [] }, request.body);
  const item = JSON.stringify(itemOf(errand.summary ?? ""));
  const done = `event: response.output_item.done\ndata: {"type":"response.output_item.done","sequence_number":2,"output_index":0,"item":${item}}\n\n`;
  const completed = (frames.at(-1) ?? "")
    .replace('"sequence_number":2', '"sequence_number":3')
    .replace('"output":[]', `"output":[${item}]`);
  return sse([...frames.slice(0, -1), done, completed].join(""));
}

/** One call for a summary, whose conversation must have everything that the errand's tools gave. */
export function summaryTurn({ text }: SeenRequest, { steps, summary = "" }: Errand): Turn {
  for (const { expects } of steps.flatMap(({ calls }) => calls)) {
    if (!text.includes(String(expects))) complain("a compaction without", expects);
  }
  return { says: [{ type: "text", text: summary }], usage, ending: "stop" };
}

/** Whether the summary is there, as a compaction of the vendor's own or of the gateway's. */
export function isContinued({ text }: SeenRequest, { summary }: Errand): boolean {
  const isCompaction =
    text.includes('"type":"compaction"') ||
    text.includes("Earlier turns of this conversation were summarized.");
  return summary !== undefined && isCompaction && text.includes(summary);
}
