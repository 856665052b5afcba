import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import {
  lacksOfCompaction,
  lacksOfEvent,
  lacksOfResponse,
} from "../dialects/openai-responses/published-schema.ts";
import { type Frame, SocketClient } from "../support/socket.ts";
import { dataOf, readStream } from "../support/sse.ts";
import { frameworkErrand } from "./agents/framework-errand.ts";
import { type AgentProvider, startAgentProvider } from "./agents/provider.ts";
import { speakerNames } from "./conversation/speakers.ts";
import { startWorld, type World } from "./world.ts";

/**
 * The cases of the Open Responses compliance suite (version of 2026-04-24), under their names there, with its requests and
 * what it validates. (Its case on the schema of phases sends nothing.)
 */

let world: World<AgentProvider>;

const demo = `
[providers.demo]
kind = "demo"

[[models]]
id = "demo"
provider = "demo"
price = { input = 1.0, output = 2.0 }
`;

beforeAll(async () => {
  world = await startWorld(startAgentProvider(), { tail: demo });
  // It calls `get_weather` where that is offered.
  world.provider.send(frameworkErrand);
}, 120_000);
afterAll(() => world.dispose());

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
  // In the suite's own repository alone, not in its release.
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

describe.each([...speakerNames, "demo"] as const)("Open Responses on a provider of %s", (dialect) => {
  const access = () => {
    const { url, key, model } = world.access(dialect === "demo" ? "chat" : dialect);
    return { url, key, model: dialect === "demo" ? "demo" : model };
  };

  function post(path: string, fields: JsonObject): Promise<Response> {
    const { url, key } = access();
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    return fetch(url + path, { method: "POST", headers, body: JSON.stringify(fields) });
  }

  test.each(Object.entries(cases))("%s", async (_name, { fields, streamed = false, calls }) => {
    const answer = await post("/v1/responses", { model: access().model, ...fields, stream: streamed });
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

  test("compact-response", async () => {
    const input = [
      user("We agreed to launch on Tuesday and notify support first."),
      user([{ type: "input_image", image_url: heart }]),
      { type: "message", role: "assistant", content: "Understood. The launch is Tuesday." },
    ];
    const fields = { model: access().model, prompt_cache_key: "openresponses-compact-test", input };
    const answer = (await (await post("/v1/responses/compact", fields)).json()) as Finished;
    expect(lacksOfCompaction(answer)).toEqual([]);
    expect(answer.output.at(-1)?.type).toBe("compaction");
  });

  test("compact-missing-model", async () => {
    const { status } = await post("/v1/responses/compact", { input: [user("Compact this conversation.")] });
    expect(status).toBe(400);
  });

  // It streams as slowly as a model does.
  if (dialect === "demo") return;

  const connect = () => SocketClient.open(access().url, access().key);

  /** A response that is asked for over a socket, all of whose events are as published. */
  async function complete(socket: SocketClient, fields: JsonObject): Promise<string> {
    const seen = socket.frames.length;
    const ended = await socket.ask({ model: access().model, ...fields });
    expect(socket.frames.slice(seen).flatMap((frame) => lacksOfEvent(frame))).toEqual([]);
    expect(ended.type).toBe("response.completed");
    return ended.response.id;
  }

  /** The same for one that must fail. */
  async function fail(socket: SocketClient, fields: JsonObject): Promise<Frame> {
    const ended = await socket.ask({ model: access().model, ...fields });
    expect([ended.type, ended.status]).toEqual(["error", 400]);
    expect(ended.error.message).toBeString();
    return ended;
  }

  const unstored = (input: Json, previous_response_id?: string): JsonObject => ({
    store: false,
    input,
    ...(previous_response_id === undefined ? {} : { previous_response_id }),
  });

  test("websocket-response", async () => {
    using socket = await connect();
    await complete(socket, { input: [user("Count from 1 to 3.")] });
  });

  test("websocket-sequential-responses", async () => {
    using socket = await connect();
    const ids = [
      await complete(socket, unstored("Reply with exactly: first")),
      await complete(socket, unstored("Reply with exactly: second")),
    ];
    expect(new Set(ids).size).toBe(2);
  });

  test("websocket-continuation", async () => {
    using socket = await connect();
    const id = await complete(socket, unstored("Remember the code word: cobalt. Reply with OK."));
    await complete(socket, unstored("What is the code word?", id));
  });

  test("websocket-reconnect-store-false-recovery", async () => {
    using first = await connect();
    const id = await complete(first, unstored("Remember the code word: copper. Reply with OK."));
    first.close();
    using second = await connect();
    const { error } = await fail(second, unstored("What is the code word?", id));
    expect(error.code).toBe("previous_response_not_found");
    await complete(second, unstored("The code word is copper."));
  });

  test("websocket-previous-response-not-found", async () => {
    using socket = await connect();
    const { error } = await fail(socket, unstored("This should fail.", "resp_openresponses_missing_1"));
    expect(error.code).toBe("previous_response_not_found");
  });

  test("websocket-failed-continuation-evicts-cache", async () => {
    using socket = await connect();
    const id = await complete(socket, unstored("Remember the code word: ember. Reply with OK."));
    const output = { type: "function_call_output", call_id: "call_openresponses_missing", output: "None." };
    await fail(socket, unstored([output], id));
    const { error } = await fail(socket, unstored("Try to continue after the failed turn.", id));
    expect(error.code).toBe("previous_response_not_found");
  });

  test("websocket-compact-new-chain", async () => {
    const parts = (type: string, text: string) => [{ type, text }];
    const input = [
      user(parts("input_text", "Remember the compaction code word: slate.")),
      { type: "message", role: "assistant", content: parts("output_text", "OK.") },
      user(parts("input_text", "Compress this conversation for later continuation.")),
    ];
    const compacted = await post("/v1/responses/compact", { model: access().model, input });
    const { output } = (await compacted.json()) as { output: Json[] };
    using socket = await connect();
    await complete(socket, { ...unstored([...output, user("Continue from here.")]), tools: [] });
  });
});
