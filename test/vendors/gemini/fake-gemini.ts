import type { Json, JsonObject } from "../../../src/base/json.ts";
import { type Answer, json, sse } from "../../support/answers.ts";
import { upstreamKeys } from "../../support/config.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../../support/provider.ts";

/** Each key is of a project of its own, as keys often are. */
export const geminiKeys = {
  first: upstreamKeys.TEST_GEMINI_KEY,
  second: upstreamKeys.TEST_OTHER_GEMINI_KEY,
} as const;

export const sentinel = "skip_thought_signature_validator";

/**
 * Google's Gemini API as far as clients can tell: it checks keys, models and signatures, calls the first function that it is
 * offered, and answers with text once it has the result.
 */
export interface FakeGemini extends ScriptedProvider {
  /** Instead of what it would say; null for that. A list is played in order. */
  say(answer: Answer | readonly Answer[] | null): void;
}

export function startFakeGemini(): FakeGemini {
  let said: Answer[] = [];
  const provider = startProvider((request) => {
    const refusal = refusalOf(request);
    if (refusal !== null) return refusal;
    const next = said.length > 1 ? said.shift() : said[0];
    return next ?? answerTo(request);
  });
  return Object.assign(provider, {
    say(answer: Answer | readonly Answer[] | null) {
      said = answer === null ? [] : [answer].flat();
    },
  });
}

const methods =
  /^\/(?<version>v1|v1beta|v1alpha)\/(?:models|tunedModels)\/(?<model>[^/:]+):(?<method>\w+)(?<query>\?.*)?$/;

function refusalOf({ path, headers, body }: SeenRequest): Answer | null {
  const { model = "", method = "" } = methods.exec(path)?.groups ?? {};
  const key = headers["x-goog-api-key"];
  if (key === undefined)
    return googleError(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers.");
  if (!Object.values<string>(geminiKeys).includes(key)) return keyRefused(400);
  if (!["generateContent", "streamGenerateContent", "countTokens"].includes(method)) {
    return googleError(404, "NOT_FOUND", "Requested entity was not found.");
  }
  if (model.includes("missing")) {
    return googleError(404, "NOT_FOUND", `models/${model} is not found for API version v1beta.`);
  }
  const problem = method === "countTokens" ? null : signatureProblem(body, key, model);
  return problem === null ? null : googleError(400, "INVALID_ARGUMENT", problem);
}

/** What Google puts into the error of a key that it does not know. */
export function keyRefused(status: number): Answer {
  return googleError(status, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
    {
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: "API_KEY_INVALID",
      domain: "googleapis.com",
      metadata: { service: "generativelanguage.googleapis.com" },
    },
  ]);
}

export function googleError(
  status: number,
  name: string,
  message: string,
  details: JsonObject[] = [],
): Answer {
  const error = { code: status, message, status: name, ...(details.length === 0 ? {} : { details }) };
  return json({ error }, { status });
}

/** Valid for one model of one project. */
export function signatureOf(key: string, model: string): string {
  return Buffer.from(`signed by ${model} of ${key}`).toString("base64");
}

function signatureProblem(body: JsonObject, key: string, model: string): string | null {
  const contents = objects(body["contents"]);
  const isQuestion = ({ role, parts }: JsonObject) =>
    role === "user" && objects(parts).every((part) => part["functionResponse"] === undefined);
  const current = contents.findLastIndex(isQuestion);
  for (const [index, { parts }] of contents.entries()) {
    const calls = objects(parts).filter((part) => part["functionCall"] !== undefined);
    if (index > current && calls[0] !== undefined && calls[0]["thoughtSignature"] === undefined) {
      return "Function call is missing a thought_signature in functionCall parts.";
    }
    for (const { thoughtSignature: signature } of calls) {
      const isValid =
        signature === undefined || signature === sentinel || signature === signatureOf(key, model);
      if (!isValid) return "Corrupted thought signature.";
    }
  }
  return null;
}

function answerTo({ path, headers, body }: SeenRequest): Answer {
  const { model = "", method = "" } = methods.exec(path)?.groups ?? {};
  if (method === "countTokens") return json({ totalTokens: 31, promptTokensDetails: [] });
  const last = objects(objects(body["contents"]).at(-1)?.["parts"]);
  const answered = last.find((part) => part["functionResponse"] !== undefined);
  const [tools] = objects(body["tools"]);
  const [declared] = objects(tools?.["functionDeclarations"]);
  const signature = signatureOf(headers["x-goog-api-key"] ?? "", model);
  const parts =
    declared !== undefined && answered === undefined
      ? [called(String(declared["name"]), signature)]
      : [{ text: "It is " }, { text: answered === undefined ? "a lock." : "blue." }];
  if (method === "generateContent") return json(chunkOf(parts, usageOf(12, 5, 7), "STOP"));
  return sse(
    streamOf([
      chunkOf([{ text: "Let me think.", thought: true }], usageOf(12, 0, 7)),
      ...parts.map((part, index) => chunkOf([part], usageOf(12, index + 1, 7))),
      chunkOf([{ text: "", thoughtSignature: signature }], usageOf(12, 5, 7), "STOP"),
    ]),
  );
}

export function called(name: string, signature: string | null, args: JsonObject = { at: "sea" }): JsonObject {
  const functionCall = { id: `fc_${name}`, name, args };
  return signature === null ? { functionCall } : { functionCall, thoughtSignature: signature };
}

export function chunkOf(parts: readonly JsonObject[], usage: JsonObject | null, finish?: string): JsonObject {
  return {
    candidates: [
      {
        content: { role: "model", ...(parts.length === 0 ? {} : { parts: [...parts] }) },
        index: 0,
        ...(finish === undefined ? {} : { finishReason: finish }),
      },
    ],
    ...(usage === null ? {} : { usageMetadata: usage }),
    modelVersion: "gemini-3.1-pro-preview",
    responseId: "response-1",
  };
}

/** As Google reports it: figures of 0 are left out. */
export function usageOf(prompt: number, candidates: number, thoughts = 0, more: JsonObject = {}): JsonObject {
  return {
    promptTokenCount: prompt,
    ...(candidates === 0 ? {} : { candidatesTokenCount: candidates }),
    totalTokenCount: prompt + candidates + thoughts,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: prompt }],
    ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
    ...more,
  };
}

export function streamOf(chunks: readonly JsonObject[]): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("");
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? (value as JsonObject[]) : [];
}
