import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { JsonObject } from "../../src/base/json.ts";
import { type BodyDialectName, bodyDialectNames } from "../support/body-dialects.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import { waitFor } from "../support/wait.ts";
import type { Access } from "./drivers/client.ts";
import { largeClients, runsLargeClients } from "./installed.ts";
import { type Case, casesOf } from "./parameters/parameters.ts";
import { pythonTimeoutMs, runPython } from "./python/run.ts";
import { startWorld, type World } from "./world.ts";

/**
 * What becomes of every parameter that the official packages can send, on every provider dialect. It reaches the
 * provider, or the answer names it among what was dropped, or the request is refused and the error names it. None
 * disappears in silence.
 */
let world: World<ScriptedProvider>;

beforeAll(async () => {
  world = await startWorld(startProvider(inItsDialect));
}, 120_000);

afterAll(() => world.dispose());

function inItsDialect({ path, body }: SeenRequest) {
  const dialect = bodyDialectNames.find((name) => path.endsWith(endings[name])) ?? "chat";
  return answerFrom(`${dialect}/text.${body["stream"] === true ? "sse" : "json"}`);
}

const endings = { chat: "/chat/completions", responses: "/responses", messages: "/messages" };

interface Outcome {
  /** Null if it was answered. */
  readonly refused: { readonly param: string; readonly message: string } | null;
  readonly dropped: readonly string[];
  /** What the provider was sent. */
  readonly sent: JsonObject | undefined;
}

async function ask(client: BodyDialectName, access: Access, body: JsonObject): Promise<Outcome> {
  world.provider.reset();
  world.provider.script(inItsDialect);
  try {
    const response = await request[client](access, { ...body, model: access.model });
    const dropped = response.headers.get("x-sluice-dropped")?.split(", ") ?? [];
    return { refused: null, dropped, sent: world.provider.requests[0]?.body };
  } catch (error) {
    if (!(error instanceof OpenAI.APIError || error instanceof Anthropic.APIError)) throw error;
    const { error: inner = error.error } = error.error as { error?: object };
    const { param = null, message } = inner as { param?: string; message: string };
    return { refused: { param: param ?? "", message }, dropped: [], sent: world.provider.requests[0]?.body };
  }
}

/** The packages read the whole answer; the casts are because the bodies are made from a table. */
const request: Record<BodyDialectName, (access: Access, body: JsonObject) => Promise<Response>> = {
  chat: async ({ url, key }, body) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
    const params = body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
    const { data, response } = await client.chat.completions.create(params).withResponse();
    expect(data.choices[0]?.message.content).not.toBe("");
    return response;
  },
  responses: async ({ url, key }, body) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
    const params = body as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    const { data: created, response } = await client.responses.create(params).withResponse();
    let data = created;
    await waitFor(async () => {
      if (data.status !== "completed") data = await client.responses.retrieve(created.id);
      return data.status === "completed";
    }, "the response to be completed");
    expect(data.output_text).not.toBe("");
    return response;
  },
  messages: async ({ url, key }, body) => {
    const client = new Anthropic({ baseURL: url, authToken: key, apiKey: null, maxRetries: 0 });
    const params = body as unknown as Anthropic.MessageCreateParamsNonStreaming;
    const { data, response } = await client.messages.create(params).withResponse();
    expect(data.content).not.toEqual([]);
    return response;
  },
};

function fateOf({ name }: Case, before: Outcome, after: Outcome): string {
  if (after.refused !== null) {
    const { param, message } = after.refused;
    // `top_logprobs` needs `logprobs`, which is refused first.
    const isNamed =
      message.includes(name) || (param !== "" && (param.startsWith(name) || name.endsWith(param)));
    if (after.sent !== undefined) return "refused after it was sent";
    return isNamed ? "refused" : `refused without its name: ${message}`;
  }
  if (
    after.dropped.some(
      (field) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`),
    )
  )
    return "dropped";
  return Bun.deepEquals(before.sent, after.sent) ? "GONE" : "carried";
}

function isFine(fate: string): boolean {
  return fate === "carried" || fate === "dropped" || fate === "refused";
}

/** Parameters whose value in the table asks for what the provider does anyway, or that never get into the body. */
const harmless: Readonly<Record<BodyDialectName, readonly string[]>> = {
  chat: ["modalities"],
  // Reasoning always comes back sealed, also where it is not asked for, and the gateway stores responses itself, as it runs them in the
  // background.
  responses: ["background", "include", "store"],
  // The package sends the last two as headers. They name things of the operator's account and are not forwarded.
  messages: ["thinking", "user_profile_id", "workspace_id"],
};

function isHarmless(name: string, client: BodyDialectName): boolean {
  return harmless[client].includes(name);
}

describe.each([...bodyDialectNames])("every parameter of %s", (client) => {
  test.each([...bodyDialectNames])("has a fate on a provider of %s", async (provider) => {
    const access = world.access(provider);
    const fates: Record<string, string> = {};
    for (const each of casesOf(client)) {
      const before = await ask(client, access, each.without);
      fates[each.name] = fateOf(each, before, await ask(client, access, each.with));
    }
    const gone = Object.entries(fates).filter(([name, fate]) => !isFine(fate) && !isHarmless(name, client));
    expect(gone).toEqual([]);
    if (client === provider) expect(Object.values(fates)).not.toContain("dropped");
  });
});

interface PythonOutcome {
  readonly answered?: true;
  readonly error?: { readonly type: string; readonly message: string };
}

const python = runsLargeClients ? await largeClients.python() : null;
const suite = runsLargeClients ? describe.skipIf(python === null) : () => {};

suite("the official Python packages, which validate what they read", () => {
  test(
    "can send every parameter on every provider dialect",
    async () => {
      const requests = bodyDialectNames.flatMap((client) =>
        bodyDialectNames.flatMap((provider) => {
          const access = world.access(provider);
          return casesOf(client).map((each) => ({ client, provider, access, ...each }));
        }),
      );
      world.provider.script(inItsDialect);
      const { url, key } = world.access("chat");
      const outcomes = await runPython<PythonOutcome>(python ?? "", "converse.py", {
        url,
        key,
        conversations: [],
        requests: requests.map(({ client, access, with: body }) => ({
          client,
          body: { ...body, model: access.model },
        })),
      });
      const unexpected = requests.flatMap(({ client, provider, name }, index) => {
        const { answered, error } = outcomes[index] ?? {};
        const isRefused = error !== undefined && /BadRequestError|NotFoundError/.test(error.type);
        return answered === true || isRefused ? [] : [`${client} on ${provider}: ${name}: ${error?.message}`];
      });
      expect(unexpected).toEqual([]);
      expect(outcomes.filter(({ answered }) => answered === true).length).toBeGreaterThan(100);
    },
    pythonTimeoutMs,
  );
});
