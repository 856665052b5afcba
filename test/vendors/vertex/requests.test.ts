import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { errorStatus } from "../../../src/upstream/failure.ts";
import { withoutSystemTurns } from "../../../src/vendors/claude/conversation.ts";
import { HttpProvider } from "../../../src/vendors/http/http-provider.ts";
import type { PreparedRequest } from "../../../src/vendors/provider.ts";
import { createProvider } from "../../../src/vendors/registry.ts";
import { claudeHeaders } from "../../../src/vendors/vertex/index.ts";
import { load } from "../../config/fixtures.ts";
import { prepared } from "../../upstream/fixtures.ts";

/** The provider that an operator's lines make, and its model's deployment. */
function configured(lines: string, model = "gemini-3-pro", more = "") {
  const toml = `[providers.vertex]\nkind = "vertex"\n${lines}
    [[models]]\nid = "m"\nprovider = "vertex"\nupstream_model = "${model}"\nfree = true\n${more}`;
  const { settings } = load(toml, { env: { KEY: "express-key-1" } });
  const providerSettings = settings.providers.get("vertex");
  if (providerSettings === undefined) throw new Error(settings.warnings.join());
  const provider = createProvider(providerSettings);
  if (!(provider instanceof HttpProvider)) throw new Error("Vertex is called over HTTP");
  return { provider, deployment: settings.models[0]?.deployments[0] };
}

const adc = 'credentials = "adc"\nproject = "p1"';
const url = (lines: string, changes: Partial<PreparedRequest>) =>
  configured(lines).provider.url(prepared(changes));

describe("addresses", () => {
  test("each location has its host, and global has none in its name (V01, T09)", () => {
    const host = (location: string) => new URL(url(`${adc}\n${location}`, { dialect: "gemini" })).host;
    expect(host("")).toBe("aiplatform.googleapis.com");
    expect(host('location = "global"')).toBe("aiplatform.googleapis.com");
    expect(host('location = "us"')).toBe("aiplatform.us.rep.googleapis.com");
    expect(host('location = "eu"')).toBe("aiplatform.eu.rep.googleapis.com");
    expect(host('location = "us-central1"')).toBe("us-central1-aiplatform.googleapis.com");
  });

  const place = "https://aiplatform.googleapis.com/v1beta1/projects/p1/locations/global";

  test("Gemini's, and those of tuned models (V02)", () => {
    const gemini = { dialect: "gemini", model: "gemini-3-pro" } as const;
    expect(url(adc, gemini)).toBe(`${place}/publishers/google/models/gemini-3-pro:generateContent`);
    expect(url(adc, { ...gemini, stream: true })).toBe(
      `${place}/publishers/google/models/gemini-3-pro:streamGenerateContent?alt=sse`,
    );
    expect(url(adc, { ...gemini, purpose: "countTokens" })).toBe(
      `${place}/publishers/google/models/gemini-3-pro:countTokens`,
    );
    expect(url(adc, { ...gemini, model: "1234567890" })).toBe(
      `${place}/endpoints/1234567890:generateContent`,
    );
  });

  test("Claude's, whose versions keep their @ (V03)", () => {
    const claude = { dialect: "messages", model: "claude-sonnet-4-5@20250929" } as const;
    const models =
      "https://aiplatform.googleapis.com/v1/projects/p1/locations/global/publishers/anthropic/models";
    expect(url(adc, claude)).toBe(`${models}/claude-sonnet-4-5@20250929:rawPredict`);
    expect(url(adc, { ...claude, stream: true })).toBe(
      `${models}/claude-sonnet-4-5@20250929:streamRawPredict`,
    );
    expect(url(adc, { ...claude, purpose: "countTokens" })).toBe(`${models}/count-tokens:rawPredict`);
    expect(url(adc, { ...claude, model: "a/../b?c" })).toBe(`${models}/a%2F..%2Fb%3Fc:rawPredict`);
  });

  test("open models' are OpenAI's (V07)", () => {
    expect(url(adc, { dialect: "chat", model: "meta/llama-4" })).toBe(
      "https://aiplatform.googleapis.com/v1/projects/p1/locations/global/endpoints/openapi/chat/completions",
    );
  });

  test("an API key needs no project (V08)", () => {
    const { provider } = configured('api_key = "env:KEY"');
    const asked = prepared({ dialect: "gemini", model: "gemini-3-pro" });
    expect(provider.url(asked)).toBe(
      "https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-3-pro:generateContent",
    );
    expect(provider.headers(asked, provider.credentials[0]?.use() ?? null)).toMatchObject({
      "x-goog-api-key": "express-key-1",
    });
  });

  test("a model's name says what it is spoken to in, and the operator's word comes first (V07)", () => {
    const dialects = (model: string, more = "") => configured(adc, model, more).deployment?.dialects;
    expect(dialects("claude-opus-4-6")).toEqual(["messages"]);
    expect(dialects("gemini-3-pro")).toEqual(["gemini"]);
    expect(dialects("deepseek-ai/deepseek-v3")).toEqual(["chat"]);
    expect(dialects("our-own", 'family = "claude-opus-4-6"')).toEqual(["messages"]);
    expect(dialects("gemini-3-pro", 'dialect = "chat"')).toEqual(["chat"]);
  });
});

describe("Claude's requests", () => {
  test("betas that Vertex does not know stay behind, and one has another name (V05)", () => {
    const headers = claudeHeaders({
      "anthropic-version": "2023-06-01",
      "anthropic-beta":
        "context-1m-2025-08-07, files-api-2025-04-14,advanced-tool-use-2025-11-20,interleaved-thinking-2025-05-14",
    });
    expect(headers).toEqual({
      "anthropic-beta": "context-1m-2025-08-07,tool-search-tool-2025-10-19,interleaved-thinking-2025-05-14",
    });
    expect(claudeHeaders({ "anthropic-beta": "unknown-1" })).toEqual({});
  });

  test("a system message within the conversation is the user's text, and never between a call and its result (V04)", () => {
    const body = (messages: JsonObject[]) => withoutSystemTurns(messages) as JsonObject[];
    const user = { role: "user", content: "Hi" };
    const note = { role: "system", content: "Be brief." };
    const calling = { role: "assistant", content: [{ type: "tool_use", id: "t", name: "look", input: {} }] };
    const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "x" }] };
    const text = { type: "text", text: "Be brief." };
    expect(body([user, note])).toEqual([user, { role: "user", content: "Be brief." }]);
    expect(body([user, calling, note, result])).toEqual([
      user,
      calling,
      { role: "user", content: [...result.content, text] },
    ]);
    expect(body([user, calling, note])).toEqual([user, calling, { role: "user", content: [text] }]);
    const untouched = [user];
    expect(withoutSystemTurns(untouched)).toBe(untouched);
  });
});

describe("refusals", () => {
  const { provider } = configured(`${adc}\nlocation = "europe-west1"`);
  const answered = (status: number, body: JsonObject) => ({
    head: { status, get: () => null },
    text: JSON.stringify(body),
    receivedAtMs: 0,
  });
  const failureOf = (status: number, body: JsonObject) =>
    errorStatus(
      status,
      provider.readProviderError(answered(status, body)),
      "messages",
      "messages",
      JSON.stringify(body),
    );
  const google = (code: number, status: string, message: string) => ({ error: { code, status, message } });

  test("a model that is not there is the deployment's fault, and is tried elsewhere (V14)", () => {
    const message =
      "Publisher Model `projects/p1/locations/us/publishers/anthropic/models/x` was not found or your project does not have access to it.";
    const failure = failureOf(404, google(404, "NOT_FOUND", message));
    expect(failure).toMatchObject({
      alarm: true,
      mayTryOtherDeployments: true,
      error: { code: "upstream_error" },
    });
    expect(failure.providerMessage).not.toContain("p1");
  });

  test("a used up quota without RetryInfo is a second's pause (V15)", () => {
    const failure = failureOf(429, google(429, "RESOURCE_EXHAUSTED", "Resource exhausted."));
    expect(failure).toMatchObject({ keyProblem: "throttled", mayTryOtherDeployments: true });
    expect(failure.error.retryAfterSeconds).toBe(1);
  });

  test("Claude's errors come in Google's envelope or in Anthropic's (V16)", () => {
    const own = {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 5 tokens > 4 maximum" },
    };
    expect(failureOf(400, own).error).toMatchObject({ code: "context_length_exceeded" });
    expect(failureOf(400, google(400, "INVALID_ARGUMENT", "no")).error).toMatchObject({
      code: "invalid_request",
      message: "no",
    });
  });

  test("models check metrics an operator what to do", () => {
    const advice = (status: number, body: JsonObject = {}) =>
      provider.advise(answered(status, body), "claude-x");
    expect(advice(404)).toBe(
      'the model "claude-x" is not enabled in europe-west1; enable it in the Model Garden, or try another location, such as global',
    );
    expect(advice(403)).toContain('"Vertex AI User"');
    expect(advice(403, { error: { details: [{ reason: "SERVICE_DISABLED" }] } })).toContain(
      "is not enabled in the project",
    );
  });
});
