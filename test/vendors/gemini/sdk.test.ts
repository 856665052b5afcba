import { afterAll, beforeEach, expect, test } from "bun:test";
import { ApiError, FunctionCallingConfigMode, GoogleGenAI } from "@google/genai";
import { sse } from "../../support/answers.ts";
import {
  chunkOf,
  geminiKeys,
  googleError,
  signatureOf,
  startFakeGemini,
  streamOf,
  usageOf,
} from "./fake-gemini.ts";

/** Google's own package talks to the fake, so that what the fake says is what Google says. */
const fake = startFakeGemini();
const model = "gemini-3.1-pro-preview";
const client = clientWith(geminiKeys.first);

beforeEach(() => {
  fake.requests.length = 0;
  fake.say(null);
});

afterAll(() => fake.stop());

function clientWith(apiKey: string): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: fake.url } });
}

const look = {
  name: "look",
  parametersJsonSchema: { type: "object", properties: { at: { type: "string" } } },
};

test("the paths, the header and the names are those of Google's package (G01, G02, G03)", async () => {
  const whole = await client.models.generateContent({ model, contents: "What is it?" });
  expect(whole.text).toBe("It is a lock.");
  expect(whole.usageMetadata).toMatchObject({
    promptTokenCount: 12,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 7,
  });
  let streamed = "";
  for await (const chunk of await client.models.generateContentStream({ model, contents: "What is it?" })) {
    streamed += chunk.text ?? "";
  }
  expect(streamed).toBe("It is a lock.");
  expect(await client.models.countTokens({ model, contents: "What is it?" })).toMatchObject({
    totalTokens: 31,
  });
  expect(fake.requests.map(({ path }) => path)).toEqual([
    `/v1beta/models/${model}:generateContent`,
    `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    `/v1beta/models/${model}:countTokens`,
  ]);
  for (const { headers } of fake.requests) expect(headers["x-goog-api-key"]).toBe(geminiKeys.first);
});

test("a chat of Google's package brings signatures back, and the fake insists on them", async () => {
  const chat = client.chats.create({
    model,
    config: {
      tools: [{ functionDeclarations: [look] }],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } },
    },
  });
  const first = await chat.sendMessage({ message: "Look at the sea." });
  expect(first.functionCalls).toEqual([{ id: "fc_look", name: "look", args: { at: "sea" } }]);
  const response = { id: "fc_look", name: "look", response: { output: "blue" } };
  const second = await chat.sendMessage({ message: [{ functionResponse: response }] });
  expect(second.text).toBe("It is blue.");
  const [call] = first.candidates?.[0]?.content?.parts ?? [];
  expect(call?.thoughtSignature).toBe(signatureOf(geminiKeys.first, model));
  const unsigned = { role: "model", parts: [{ functionCall: { id: "fc_look", name: "look", args: {} } }] };
  const history = [{ role: "user", parts: [{ text: "Look." }] }, unsigned];
  const contents = [...history, { role: "user", parts: [{ functionResponse: response }] }];
  await expect(client.models.generateContent({ model, contents })).rejects.toThrow(
    /missing a thought_signature/,
  );
  const signed = {
    ...unsigned,
    parts: [{ ...unsigned.parts[0], thoughtSignature: signatureOf(geminiKeys.first, model) }],
  };
  const others = [history[0] ?? {}, signed, contents[2] ?? {}];
  await expect(
    clientWith(geminiKeys.second).models.generateContent({ model, contents: others }),
  ).rejects.toThrow(/Corrupted/);
});

test("errors of the fake are errors of Google's package, within a stream too", async () => {
  const asked = (apiKey: string, name = model) =>
    clientWith(apiKey)
      .models.generateContent({ model: name, contents: "?" })
      .then(
        () => null,
        (error: unknown) => error,
      );
  expect(await asked("nobody's")).toMatchObject({
    status: 400,
    message: expect.stringContaining("API_KEY_INVALID"),
  });
  expect(await asked(geminiKeys.first, "gemini-missing")).toMatchObject({ status: 404 });
  fake.say(googleError(503, "UNAVAILABLE", "The model is overloaded."));
  expect(await asked(geminiKeys.first)).toBeInstanceOf(ApiError);
  const begun = streamOf([chunkOf([{ text: "It is" }], usageOf(12, 1))]);
  const bare = JSON.stringify(
    { error: { code: 503, message: "Overloaded.", status: "UNAVAILABLE" } },
    null,
    2,
  );
  fake.say({ ...sse(""), steps: [{ write: begun }, { sleepMs: 20 }, { write: bare }] });
  const read = async () => {
    for await (const _ of await client.models.generateContentStream({ model, contents: "?" }));
  };
  // The package recognises the error if it arrives alone, and something wrong if it does not.
  await expect(read()).rejects.toThrow(/UNAVAILABLE|Incomplete JSON/);
});
