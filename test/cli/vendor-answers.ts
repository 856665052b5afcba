import { embeddingAnswer } from "../gateway/metered/embedding-provider.ts";
import { type Answer, json, openAiError } from "../support/answers.ts";
import type { SeenRequest } from "../support/provider.ts";
import { grant } from "../vendors/vertex/fake-vertex.ts";

/** What every generation reports. */
export const tokens = { input: 1000, output: 100 };

/** What a vendor answers, by the address that it was asked at. */
export function vendorResponse(request: SeenRequest): Answer {
  const [path = ""] = request.path.split("?");
  const answer = answers.find(([address]) => address.test(path))?.[1];
  return answer?.(request) ?? openAiError(404, `no such address: ${path}`);
}

const answers: readonly (readonly [address: RegExp, (request: SeenRequest) => Answer])[] = [
  [/\/token$/, (request) => grant(request, () => json({ access_token: "a-token", expires_in: 3599 }))],
  [
    /rerank/,
    ({ body }) => json({ id: "r", results: ranked(body["documents"]), data: ranked(body["documents"]) }),
  ],
  [/embed|:predict$/i, embeddingAnswer],
  [/\/chat\/completions$/, ({ body }) => chat(String(body["model"]))],
  // Claude, at Anthropic itself and on each cloud.
  [/\/messages$|anthropic[^/]*\/(?:invoke|converse)$|claude[^/]*:rawPredict$/, () => claude],
  [/\/converse$/, () => converse],
  [/:generateContent$/, () => gemini],
];

function ranked(documents: unknown): { index: number; relevance_score: number }[] {
  return Array.isArray(documents) ? documents.map((_, index) => ({ index, relevance_score: 0.5 })) : [];
}

function chat(model: string): Answer {
  const message = { role: "assistant", content: "Hi" };
  const usage = {
    prompt_tokens: tokens.input,
    completion_tokens: tokens.output,
    total_tokens: tokens.input + tokens.output,
  };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return json({ id: "chatcmpl-1", object: "chat.completion", created: 1, model, choices, usage });
}

const claude = json({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: tokens.input, output_tokens: tokens.output },
});

const converse = json({
  output: { message: { role: "assistant", content: [{ text: "Hi" }] } },
  stopReason: "end_turn",
  usage: {
    inputTokens: tokens.input,
    outputTokens: tokens.output,
    totalTokens: tokens.input + tokens.output,
  },
  metrics: { latencyMs: 1 },
});

const gemini = json({
  candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP", index: 0 }],
  usageMetadata: {
    promptTokenCount: tokens.input,
    candidatesTokenCount: tokens.output,
    totalTokenCount: tokens.input + tokens.output,
  },
  modelVersion: "gemini",
});
