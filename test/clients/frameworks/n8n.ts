import type { JsonObject } from "../../../src/base/json.ts";
import { listOf } from "../conversation/dialect.ts";
import { type FrameworkRun, instructions, question, toolsOf } from "./framework.ts";

/**
 * n8n's OpenAI node, which is too large to be run here, as packages/@n8n/nodes-langchain/nodes/vendors/OpenAi/v2/actions/text has it
 * (response.operation.ts and helpers/responses.ts): all its requests name the response that the first one continued, and each has
 * the calls and the reasoning of those before it. Returns the messages of the last answer.
 */
export async function runN8nNode(run: FrameworkRun, previousResponseId: string): Promise<JsonObject[]> {
  const tools = toolsOf(run);
  const input: JsonObject[] = [{ role: "user", content: [{ type: "input_text", text: question }] }];
  const body: JsonObject = {
    model: run.access.model,
    input,
    parallel_tool_calls: true,
    store: true,
    instructions,
    previous_response_id: previousResponseId,
    tools: tools.map(({ name, description }) => ({
      type: "function",
      name,
      description,
      parameters: {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false,
      },
      strict: false,
    })),
    background: false,
    truncation: "disabled",
    reasoning: { effort: "low" },
    text: { format: { type: "text" } },
  };
  for (;;) {
    const output = await outputOf(run, body);
    const calls = output.filter(({ type }) => type === "function_call");
    if (calls.length === 0) return output.filter(({ type }) => type === "message");
    input.push(...output.filter(({ type }) => type === "function_call" || type === "reasoning"));
    for (const { call_id: callId = null, name, arguments: given } of calls) {
      const result = tools.find((tool) => tool.name === name)?.execute(JSON.parse(String(given)));
      input.push({ type: "function_call_output", call_id: callId, output: result ?? null });
    }
  }
}

async function outputOf({ access }: FrameworkRun, body: JsonObject): Promise<JsonObject[]> {
  const response = await fetch(`${access.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${access.key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(await response.text());
  return listOf(((await response.json()) as JsonObject)["output"]);
}
