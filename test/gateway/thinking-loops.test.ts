import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isObject, type Json, type JsonObject } from "../../src/base/json.ts";
import { type Answer, json } from "../support/answers.ts";
import { upstreamKeys } from "../support/config.ts";
import { type SeenRequest, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { keyFile } from "../vendors/vertex/fake-vertex.ts";

/**
 * Loops of tool calls in which the model changes, by the client or by fallbacks. Each Claude checks Anthropic's rule at
 * every step: with a budget, each assistant message of the turn starts with thinking of its own.
 */
const provider = startProvider(answer);
const price = "price = { input = 1.0, output = 2.0 }";
const reasoning = "capabilities = { tools = true, reasoning = true }";
const model = (id: string, upstream: string, more = "") => `
[[models]]
id = "${id}"
provider = "${id.replace(/-.*/, "")}"
upstream_model = "${upstream}"
max_output_tokens = 8000
${price}
${reasoning}
${more}
`;
const bedrockId = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
const claudeModels = (suffix: string, more: string) => `
${model(`anthropic${suffix}`, "claude-sonnet-4-5", more)}
${model(`vertex${suffix}`, "claude-sonnet-4-5@20250929", more)}
${model(`bedrock${suffix}`, bedrockId, `dialect = "converse"\n${more}`)}
${model(`bedrock-invoke${suffix}`, bedrockId, `dialect = "messages"\n${more}`)}
`;
const config = `
[providers.anthropic]
kind = "anthropic"
base_url = "${provider.url}"
api_key = "env:TEST_ANTHROPIC_KEY"
[providers.vertex]
kind = "vertex"
base_url = "${provider.url}"
location = "europe-west1"
credentials = "env:TEST_GOOGLE_ACCOUNT"
[providers.bedrock]
kind = "bedrock"
region = "eu-central-1"
base_url = "${provider.url}"
api_key = "env:TEST_BEDROCK_KEY"
[providers.plain]
kind = "openai-compatible"
base_url = "${provider.url}/plain"
[providers.reasoner]
kind = "openai-compatible"
base_url = "${provider.url}/reasoner"
${claudeModels("", "")}
${claudeModels("-spared-plain", 'fallbacks = ["plain"]')}
${claudeModels("-spared-reasoner", 'fallbacks = ["reasoner"]')}
${model("plain", "some-model")}
${model("reasoner", "deepseek-v4")}
`;

let sluice: Sluice;
let key: TestKey;
let calls = 0;
/** Claude omits thinking after its first step, as it does without interleaved thinking. */
let thinksOnce = false;
/** Every Claude fails, so that fallbacks answer. */
let isClaudeDown = false;

beforeAll(async () => {
  const env = { ...upstreamKeys, TEST_GOOGLE_ACCOUNT: keyFile(`${provider.url}/token`) };
  sluice = await startSluice({ config, env });
  key = await sluice.createKey({ credit: 1000 });
});

afterAll(async () => {
  provider.stop();
  await sluice.dispose();
});

const doors = ["anthropic", "vertex", "bedrock", "bedrock-invoke"] as const;
const others = ["plain", "reasoner"] as const;

describe.each(doors)("a tool loop that ends on Claude by %s", (door) => {
  const models = [door, ...others];
  const sequences = models.flatMap((a) => models.flatMap((b) => models.map((c) => [a, b, c, door])));

  test.each(["messages", "responses"] as const)("has no step that Anthropic rejects (%s)", async (client) => {
    for (const sequence of sequences) {
      const { statuses } = await loop(client, sequence);
      expect([sequence, statuses]).toEqual([sequence, [200, 200, 200, 200]]);
    }
  });

  test.each(["messages", "responses"] as const)(
    "thinks at each step if all are Claude's (%s)",
    async (client) => {
      const { thought } = await loop(client, [door, door, door]);
      expect(thought).toEqual([true, true, true]);
    },
  );

  test.each(["messages", "responses"] as const)(
    "keeps its budget where Claude itself thinks once (%s)",
    async (client) => {
      thinksOnce = true;
      const { thought } = await loop(client, [door, door, door]).finally(() => {
        thinksOnce = false;
      });
      expect(thought).toEqual([true, true, true]);
    },
  );
});

describe.each(doors)("a tool loop on Claude by %s, a step of which a fallback answers", (door) => {
  for (const client of ["messages", "responses"] as const) {
    test.each(others)(`goes on when Claude is back (%s, ${client})`, async (other) => {
      const steps = Array(4).fill(`${door}-spared-${other}`);
      const seen = provider.requests.length;
      const { statuses } = await loop(client, steps, {}, (step) => {
        isClaudeDown = step === 1;
      });
      expect(statuses).toEqual([200, 200, 200, 200]);
      const answering = provider.requests.slice(seen).map(({ path }) => path.startsWith(`/${other}`));
      expect(answering).toEqual([false, false, true, false, false]);
    });
  }
});

test("a step that goes without thinking asks for no thinking to be cleared", async () => {
  const edits = [{ type: "clear_thinking_20251015", keep: "all" }, { type: "clear_tool_uses_20250919" }];
  await loop("messages", ["anthropic", "plain", "anthropic"], { context_management: { edits } });
  expect(provider.requests.at(-1)?.body["context_management"]).toEqual({ edits: edits.slice(1) });
  await loop("messages", ["plain", "anthropic"], { context_management: { edits: edits.slice(0, 1) } });
  expect(provider.requests.at(-1)?.body).not.toHaveProperty("context_management");
});

interface Loop {
  readonly statuses: readonly number[];
  /** Whether each request that a Claude got had a budget. */
  readonly thought: readonly boolean[];
}

/** One turn, whose steps go to these models. */
async function loop(
  client: keyof typeof clients,
  models: readonly string[],
  more = {},
  before?: (step: number) => void,
): Promise<Loop> {
  const { path, list, fields, continued } = clients[client];
  const statuses: number[] = [];
  const seen = provider.requests.length;
  let said: Json[] = [{ role: "user", content: "look" }];
  for (const [step, id] of models.entries()) {
    before?.(step);
    const response = await sluice.request(path, {
      method: "POST",
      key,
      body: { model: id, [list]: said, ...fields, ...more },
    });
    statuses.push(response.status);
    said = [...said, ...continued((await response.json()) as JsonObject)];
  }
  const claudes = provider.requests.slice(seen).filter(({ path }) => /\/messages$|claude/.test(path));
  return { statuses, thought: claudes.map(({ body }) => budgetOf(body)) };
}

const clients = {
  messages: {
    path: "/v1/messages",
    list: "messages",
    fields: {
      max_tokens: 6000,
      thinking: { type: "enabled", budget_tokens: 2000 },
      tools: [{ name: "look", input_schema: { type: "object" } }],
    },
    continued: ({ content }: JsonObject): Json[] => {
      const results = objects(content).flatMap(({ type, id }) =>
        type === "tool_use" ? [{ type: "tool_result", tool_use_id: id ?? null, content: "fog" }] : [],
      );
      return [
        { role: "assistant", content: content ?? null },
        { role: "user", content: results },
      ];
    },
  },
  responses: {
    path: "/v1/responses",
    list: "input",
    fields: {
      max_output_tokens: 6000,
      reasoning: { effort: "high" },
      include: ["reasoning.encrypted_content"],
      store: false,
      tools: [{ type: "function", name: "look", parameters: { type: "object" } }],
    },
    continued: ({ output }: JsonObject): Json[] => {
      const items = objects(output);
      return [
        ...items,
        ...items.flatMap(({ type, call_id }) =>
          type === "function_call"
            ? [{ type: "function_call_output", call_id: call_id ?? null, output: "fog" }]
            : [],
        ),
      ];
    },
  },
} as const;

// ——— The providers ———

function answer(request: SeenRequest): Answer {
  calls += 1;
  if (request.path === "/token") return json({ access_token: "t", expires_in: 3599, token_type: "Bearer" });
  if (request.path.startsWith("/plain")) return json(chatAnswer({}));
  if (request.path.startsWith("/reasoner")) return json(chatAnswer({ reasoning_content: "Hm." }));
  if (isClaudeDown)
    return json({ type: "error", error: { type: "api_error", message: "Down." } }, { status: 500 });
  const steps = turnOf(objects(request.body["messages"])).filter(({ role }) => role === "assistant");
  const thinks = budgetOf(request.body);
  const isUnthought = steps.some((step, index) => {
    return !startsThinking(step) && !(thinksOnce && index > 0);
  });
  if (thinks && isUnthought) {
    const message =
      "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.";
    const isConverse = request.path.endsWith("/converse");
    return json(
      isConverse ? { message } : { type: "error", error: { type: "invalid_request_error", message } },
      {
        status: 400,
      },
    );
  }
  const isThinking = thinks && !(thinksOnce && steps.length > 0);
  return json(request.path.endsWith("/converse") ? converseResponse(isThinking) : claudeResponse(isThinking));
}

function chatAnswer(more: JsonObject): JsonObject {
  const call = { id: `call_${calls}`, type: "function", function: { name: "look", arguments: "{}" } };
  const message = { role: "assistant", content: null, tool_calls: [call], ...more };
  return {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "some-model",
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

function claudeResponse(thinks: boolean): JsonObject {
  const thinking = thinks ? [{ type: "thinking", thinking: "Hm.", signature: "EqQB" }] : [];
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [...thinking, { type: "tool_use", id: `toolu_${calls}`, name: "look", input: {} }],
    stop_reason: "tool_use",
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
}

function converseResponse(thinks: boolean): JsonObject {
  const thinking = thinks
    ? [{ reasoningContent: { reasoningText: { text: "Hm.", signature: "EqQB" } } }]
    : [];
  const content = [...thinking, { toolUse: { toolUseId: `tooluse_${calls}`, name: "look", input: {} } }];
  return {
    output: { message: { role: "assistant", content } },
    stopReason: "tool_use",
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  };
}

/** What follows the last message of the user that has no results. */
function turnOf(messages: readonly JsonObject[]): readonly JsonObject[] {
  const isResult = (block: JsonObject) => block["type"] === "tool_result" || "toolResult" in block;
  const start = messages.findLastIndex(
    ({ role, content }) => role === "user" && !objects(content).some(isResult),
  );
  return messages.slice(start + 1);
}

function startsThinking({ content }: JsonObject): boolean {
  const [first = {}] = objects(content);
  return first["type"] === "thinking" || "reasoningContent" in first;
}

function budgetOf(body: JsonObject): boolean {
  const extra = body["additionalModelRequestFields"];
  const thinking = body["thinking"] ?? (isObject(extra) ? extra["thinking"] : undefined);
  return isObject(thinking) && thinking["type"] === "enabled";
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
