import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { lacksOfEvent, lacksOfResponse } from "../dialects/openai-responses/published-schema.ts";
import { answerFrom } from "../support/fixtures.ts";
import type { SeenRequest } from "../support/provider.ts";
import { dataOf, readStream } from "../support/sse.ts";
import { type Caller, World } from "./world.ts";

/**
 * The HTTP cases of the Open Responses compliance suite that need no other endpoint than `/v1/responses`, with its
 * requests and what it validates. (Its case on the schema of phases sends nothing.)
 */

let world: World;
let caller: Caller;

const price = "price = { input = 1.0, output = 2.0 }";
const tail = `
[providers.demo]
kind = "demo"

[[models]]
id = "demo-test"
provider = "demo"
${price}

[providers.google]
kind = "gemini"
api_key = "env:TEST_OPENAI_KEY"
base_url = "PROVIDER_URL"

[[models]]
id = "gemini-test"
provider = "google"
upstream_model = "gemini-3.1-pro-preview"
${price}

[[models]]
id = "chat-test"
provider = "local"
upstream_model = "local-upstream"
${price}
`;

beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller();
  world.provider.script((request) => answerFrom(fixtureFor(request)));
});
afterAll(() => world[Symbol.asyncDispose]());

/** A provider that calls a tool when it is given one. */
function fixtureFor({ path, body }: SeenRequest) {
  const isGemini = path.includes(":generateContent") || path.includes(":streamGenerateContent");
  const dialect = isGemini ? "gemini" : path.endsWith("/messages") ? "messages" : "chat";
  const form = Array.isArray(body["tools"]) ? "tools" : "text";
  return body["stream"] === true || path.includes(":stream")
    ? (`${dialect}/${form}.sse` as const)
    : (`${dialect}/${form}.json` as const);
}

const user = (content: Json) => ({ type: "message", role: "user", content });
const heart =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

interface Case {
  readonly fields: JsonObject;
  readonly streamed?: true;
  readonly calls?: true;
}

interface Finished {
  readonly status: string;
  readonly output: readonly { readonly type: string }[];
}

const weather = {
  type: "function",
  name: "get_weather",
  description: "Get the current weather for a location",
  parameters: {
    type: "object",
    properties: { location: { type: "string", description: "The city and state, e.g. San Francisco, CA" } },
    required: ["location"],
  },
};
const question = [user("What's the weather like in San Francisco?")];

const cases: Readonly<Record<string, Case>> = {
  "basic-response": { fields: { input: [user("Say hello in exactly 3 words.")] } },
  "assistant-phase": {
    fields: {
      input: [
        {
          type: "message",
          role: "assistant",
          phase: "commentary",
          content: "I should answer with the number.",
        },
        { type: "message", role: "assistant", phase: "final_answer", content: "The number is four." },
        user("Repeat only the number."),
      ],
    },
  },
  "streaming-response": { fields: { input: [user("Count from 1 to 5.")] }, streamed: true },
  "system-prompt": {
    fields: {
      input: [{ type: "message", role: "system", content: "You are a pirate." }, user("Say hello.")],
    },
  },
  "tool-calling": { fields: { input: question, tools: [weather] }, calls: true },
  "tool-calling-streaming": { fields: { input: question, tools: [weather] }, streamed: true, calls: true },
  "image-input": {
    fields: {
      input: [
        user([
          { type: "input_text", text: "What do you see in this image? Answer in one sentence." },
          { type: "input_image", image_url: heart },
        ]),
      ],
    },
  },
  "multi-turn": {
    fields: {
      input: [
        user("My name is Alice."),
        { type: "message", role: "assistant", content: "Hello Alice! Nice to meet you." },
        user("What is my name?"),
      ],
    },
  },
};

const models = [["demo-test"], ["chat-test"], ["claude-test"], ["gemini-test"]] as const;

describe.each(models)("Open Responses on %s", (model) => {
  test.each(Object.entries(cases))("%s", async (_name, { fields, streamed = false, calls }) => {
    const body = { model, ...fields, stream: streamed };
    const answer = await world.ask(caller, { path: "/v1/responses", body });
    expect(answer.status).toBe(200);
    const events = streamed ? dataOf(await readStream(answer)) : [];
    expect(events.flatMap(lacksOfEvent)).toEqual([]);
    // Checked field by field by the schema above.
    const response = (streamed ? events.at(-1)?.["response"] : await answer.json()) as Finished;
    expect(lacksOfResponse(response)).toEqual([]);
    expect(response.status).toBe("completed");
    expect(response.output.length).toBeGreaterThan(0);
    const types = response.output.map(({ type }) => type);
    if (calls !== undefined) expect(types).toContain("function_call");
    if (calls === undefined || !streamed) return;
    for (const type of ["function_call_arguments.delta", "function_call_arguments.done"]) {
      expect(events.some((event) => event["type"] === `response.${type}`)).toBe(true);
    }
  });
});
