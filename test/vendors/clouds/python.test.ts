import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { largeClients } from "../../clients/installed.ts";
import { runPython } from "../../clients/python/run.ts";
import { fixture, fixtureText } from "../../support/fixtures.ts";
import { encodeException } from "../bedrock/encode-message.ts";
import {
  awsAccount,
  claudeModel,
  converseFrames,
  eventStream,
  novaModel,
  startFakeBedrock,
} from "../bedrock/fake-bedrock.ts";
import { geminiKeys, googleError, signatureOf, startFakeGemini } from "../gemini/fake-gemini.ts";

/**
 * Google's and Amazon's packages for Python talk to the fakes, so that what the fakes say is what the clouds say. Each package
 * makes all of its calls in one process; then there is a test for what it understood.
 */
interface Outcome {
  readonly answer?: unknown;
  readonly error?: unknown;
}

const python = await largeClients.pythonWithCloudPackages();

/** Makes the calls of a table. Returns what became of each, by its name. */
async function outcomesOf<Name extends string>(
  script: string,
  calls: Readonly<Record<Name, object>>,
  more: object = {},
): Promise<ReadonlyMap<Name, Outcome>> {
  // The cast holds because the table has no other names.
  const names = Object.keys(calls) as Name[];
  const outcomes = await runPython<Outcome>(python ?? "python3", script, {
    ...more,
    calls: Object.values(calls),
  });
  expect(outcomes).toHaveLength(names.length);
  return new Map(names.map((name, index) => [name, outcomes[index] ?? {}]));
}

describe.skipIf(python === null)("boto3 on the fake of Bedrock", () => {
  const fake = startFakeBedrock();
  const failing = startFakeBedrock();
  failing.instead = eventStream(
    ...converseFrames.slice(0, 2),
    encodeException("throttlingException", { message: "Too many tokens, please wait." }),
  );

  const { accessKeyId: key, secretAccessKey: secret, sessionToken: session } = awsAccount;
  const signed = { url: fake.url, credentials: { key, secret, session } };
  const messages = [{ role: "user", content: [{ text: "What is a sluice? né à 😀" }] }];
  const converse = { operation: "converse", parameters: { modelId: novaModel, messages } };
  const converseStream = { ...converse, operation: "converse_stream" };
  const claudeBody = {
    anthropic_version: "bedrock-2023-05-31",
    max_tokens: 64,
    messages: [{ role: "user", content: "What is a sluice?" }],
  };
  const invoke = {
    operation: "invoke_model",
    parameters: { modelId: claudeModel, body: JSON.stringify(claudeBody) },
  };
  const calls = {
    converse: { ...signed, ...converse },
    converseStream: { ...signed, ...converseStream },
    invoke: { ...signed, ...invoke },
    invokeStream: { ...signed, ...invoke, operation: "invoke_model_with_response_stream" },
    countTokens: {
      ...signed,
      operation: "count_tokens",
      parameters: { modelId: claudeModel, input: { converse: { messages } } },
    },
    withoutSession: { ...converse, url: fake.url, credentials: { key, secret, session: null } },
    wrongSecret: { ...converse, url: fake.url, credentials: { key, secret: "another", session } },
    unknownModel: { ...signed, ...converse, parameters: { modelId: "amazon.nova-unknown-v9:0", messages } },
    refusedBody: {
      ...signed,
      ...invoke,
      parameters: { modelId: claudeModel, body: JSON.stringify({ ...claudeBody, model: "m" }) },
    },
    brokenStream: { ...signed, ...converseStream, url: failing.url },
  };
  let outcomes: ReadonlyMap<keyof typeof calls, Outcome>;

  beforeAll(async () => {
    outcomes = await outcomesOf("bedrock.py", calls, { region: awsAccount.region });
  }, 300_000);

  afterAll(() => {
    fake.stop();
    failing.stop();
  });

  const usage = { inputTokens: 21, outputTokens: 9, totalTokens: 30 };
  const whole = {
    output: { message: { role: "assistant", content: [{ text: fixtureText }] } },
    stopReason: "end_turn",
    usage,
    metrics: { latencyMs: 12 },
  };

  test("Converse: the answer and its figures, with a key that expires and with one that does not", () => {
    for (const name of ["converse", "withoutSession"] as const)
      expect(outcomes.get(name), name).toEqual({ answer: whole });
  });

  test("ConverseStream: every event under its name", () => {
    const half = Math.floor(fixtureText.length / 2);
    const delta = (text: string) => ({ contentBlockDelta: { contentBlockIndex: 0, delta: { text } } });
    expect(outcomes.get("converseStream")?.answer).toEqual({
      stream: [
        { messageStart: { role: "assistant" } },
        delta(fixtureText.slice(0, half)),
        delta(fixtureText.slice(half)),
        { contentBlockStop: { contentBlockIndex: 0 } },
        { messageStop: { stopReason: "end_turn" } },
        { metadata: { usage, metrics: { latencyMs: 12 } } },
      ],
    });
  });

  test("InvokeModel: Claude's body and Claude's events", () => {
    const given = outcomes.get("invoke")?.answer;
    expect(given).toEqual({ contentType: "application/json", body: expect.any(String) });
    expect(JSON.parse((given as { body: string }).body)).toEqual(JSON.parse(fixture("messages/text.json")));
    const events = [...fixture("messages/text.sse").matchAll(/^data: (.*)$/gm)].map(([, data]) => data);
    expect(outcomes.get("invokeStream")?.answer).toEqual({
      contentType: "application/json",
      body: events.map((bytes) => ({ chunk: { bytes } })),
    });
  });

  test("CountTokens: the figure", () => {
    expect(outcomes.get("countTokens")).toEqual({ answer: { inputTokens: 25 } });
  });

  test("refusals are boto3's errors, by AWS's names, within a stream too", () => {
    const refused = (code: string, message: string, type = "answer") => ({
      error: { type, code, message: expect.stringContaining(message) },
    });
    expect(Object.fromEntries([...outcomes].filter(([, { error }]) => error !== undefined))).toEqual({
      wrongSecret: refused("InvalidSignatureException", "does not match the signature"),
      unknownModel: refused("ValidationException", "model identifier is invalid"),
      refusedBody: refused("ValidationException", "model: Extra inputs are not permitted"),
      brokenStream: refused("throttlingException", "Too many tokens", "stream"),
    });
  });

  test("each call is one request, and signed", () => {
    const sent = [...fake.provider.requests, ...failing.provider.requests];
    expect(sent).toHaveLength(Object.keys(calls).length);
    for (const { headers } of sent) expect(headers["authorization"]).toStartWith("AWS4-HMAC-SHA256 ");
  });
});

describe.skipIf(python === null)("google-genai for Python on the fake of Gemini", () => {
  const fake = startFakeGemini();
  const overloaded = startFakeGemini();
  overloaded.say(googleError(503, "UNAVAILABLE", "The model is overloaded."));

  const model = "gemini-3.1-pro-preview";
  const asked = { url: fake.url, key: geminiKeys.first, parameters: { model, contents: "What is it?" } };
  const generate = { ...asked, method: "generate_content" };
  const look = { name: "look", parameters: { type: "OBJECT", properties: { at: { type: "STRING" } } } };
  const result = { function_response: { id: "fc_look", name: "look", response: { output: "blue" } } };
  const calls = {
    whole: generate,
    streamed: { ...asked, method: "generate_content_stream" },
    counted: { ...asked, method: "count_tokens" },
    chat: {
      ...asked,
      method: "chat",
      parameters: {
        model,
        config: { tools: [{ function_declarations: [look] }] },
        messages: [{ text: "Look at the sea." }, result],
      },
    },
    wrongKey: { ...generate, key: "nobody's" },
    unknownModel: { ...generate, parameters: { model: "gemini-missing", contents: "?" } },
    overloaded: { ...generate, url: overloaded.url },
  };
  let outcomes: ReadonlyMap<keyof typeof calls, Outcome>;

  beforeAll(async () => {
    outcomes = await outcomesOf("gemini.py", calls);
  }, 300_000);

  afterAll(() => {
    fake.stop();
    overloaded.stop();
  });

  const usage = { prompt_token_count: 12, candidates_token_count: 5, thoughts_token_count: 7 };

  test("the answer and its figures, and the count of tokens", () => {
    expect(outcomes.get("whole")?.answer).toMatchObject({ text: "It is a lock.", usage_metadata: usage });
    expect(outcomes.get("counted")?.answer).toMatchObject({ total_tokens: 31 });
  });

  test("a stream's pieces, thoughts apart, with the figures in the last", () => {
    const thought = { content: { parts: [{ text: "Let me think.", thought: true }] } };
    expect(outcomes.get("streamed")?.answer).toMatchObject([
      { candidates: [thought] },
      { text: "It is " },
      { text: "a lock." },
      { text: "", candidates: [{ finish_reason: "STOP" }], usage_metadata: usage },
    ]);
  });

  test("a chat brings a call's signature back", () => {
    const call = { function_call: { id: "fc_look", name: "look", args: { at: "sea" } } };
    expect(outcomes.get("chat")?.answer).toMatchObject([
      { candidates: [{ content: { parts: [call] } }] },
      { text: "It is blue." },
    ]);
    const signed = { thoughtSignature: signatureOf(geminiKeys.first, model) };
    expect(fake.requests.map(({ body }) => body)).toContainEqual(
      expect.objectContaining({
        contents: expect.arrayContaining([
          expect.objectContaining({ role: "model", parts: [expect.objectContaining(signed)] }),
        ]),
      }),
    );
  });

  test("refusals are the package's errors, by Google's names", () => {
    expect(Object.fromEntries([...outcomes].filter(([, { error }]) => error !== undefined))).toEqual({
      wrongKey: { error: { code: 400, status: "INVALID_ARGUMENT", message: expect.any(String) } },
      unknownModel: { error: { code: 404, status: "NOT_FOUND", message: expect.any(String) } },
      overloaded: { error: { code: 503, status: "UNAVAILABLE", message: "The model is overloaded." } },
    });
  });
});
