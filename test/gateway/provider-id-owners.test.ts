import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { idDigest } from "../../src/base/id.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { ProviderIdOwners } from "../../src/gateway/references/provider-id-owners.ts";
import type { IssuedIds, Store } from "../../src/store/store.ts";
import { keyRecord } from "../store/fixtures.ts";
import { json, openAiError, sse } from "../support/answers.ts";
import { upstreamKeys } from "../support/config.ts";
import { fixture } from "../support/fixtures.ts";
import { type Caller, World } from "./world.ts";

/** What a provider stores is kept apart by key, and is asked for only where it is stored. */
let world: World;
let alice: Caller;
let bob: Caller;

const pool = ["TEST_OPENAI_KEY", "TEST_ANTHROPIC_KEY", "TEST_GEMINI_KEY"] as const;

const tail = `
[providers.pooled]
kind = "openai"
base_url = "PROVIDER_URL/openai/v1"
api_key = [${pool.map((name) => `"env:${name}"`).join(", ")}]

[providers.gemini]
kind = "gemini"
base_url = "PROVIDER_URL"
api_key = "env:TEST_GEMINI_KEY"

[[models]]
id = "gemini-test"
provider = "gemini"
upstream_model = "gemini-2.5-pro"
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }

[providers.spare]
kind = "anthropic"
base_url = "PROVIDER_URL/spare"
api_key = "env:TEST_BEDROCK_KEY"

[[models]]
id = "claude-spare"
provider = "spare"
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }

[[models]]
id = "mixed-test"
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }
[[models.deployments]]
provider = "openai"
priority = 1
[[models.deployments]]
provider = "gemini"
upstream_model = "gemini-2.5-pro"
priority = 2

[[models]]
id = "pooled-test"
provider = "pooled"
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }
`;

beforeAll(async () => {
  world = await World.start({ head: '[responses]\nstate = "provider"', tail });
  [alice, bob] = await Promise.all([world.creditCaller(), world.creditCaller()]);
});
beforeEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const path = "/v1/responses";
const base = { model: "pooled-test", input: "Hello" };
const response = JSON.parse(fixture("responses/text.json")) as JsonObject;

let lastId = 0;
function fresh(prefix: string): string {
  lastId += 1;
  return `${prefix}${String(lastId).padStart(48, "0")}`;
}

/** The outcome as text, so that a failed expectation shows the error. */
async function outcome(caller: Caller, body: JsonObject, route = path): Promise<string> {
  const answer = await world.ask(caller, { path: route, body });
  const text = await answer.text();
  if (answer.status === 200) return "answered";
  const { error } = JSON.parse(text) as { error: { code: string; param?: string | null } };
  return `${answer.status} ${error.code} ${error.param ?? ""}`.trim();
}

interface Given {
  readonly id: string;
  readonly credential: string | undefined;
}

/** Begins a conversation, and gives the id of the stored response and the key that it was asked for with. */
async function store(caller: Caller): Promise<Given> {
  const id = fresh("resp_");
  world.provider.script(json({ ...response, id }));
  expect(await outcome(caller, { ...base, prompt_cache_key: id })).toBe("answered");
  return { id, credential: credentialsSeen().at(-1) };
}

/** A conversation stays with one key of the pool; another conversation may be with another. */
async function storeWithAnother({ credential }: Given): Promise<Given> {
  for (let tries = 0; tries < 50; tries += 1) {
    const given = await store(alice);
    if (given.credential !== credential) return given;
  }
  throw new Error("fifty conversations were all with one key of the pool");
}

function credentialsSeen(): (string | undefined)[] {
  return world.provider.requests.map(({ headers }) => headers["authorization"]);
}

describe("an id that was given by one credential of a pool", () => {
  test("is asked for with that credential alone, whichever it was", async () => {
    for (const _ of pool) {
      const { id, credential } = await store(alice);
      world.provider.reset();
      for (let time = 0; time < 4; time += 1) {
        expect(await outcome(alice, { ...base, previous_response_id: id })).toBe("answered");
      }
      expect(credentialsSeen()).toEqual(Array(4).fill(credential));
    }
  });

  test("is asked for with no other when that one is limited or refused", async () => {
    for (const [refusal, ending] of [
      [openAiError(429, "slow down", null, { "retry-after": "1" }), "503 service_unavailable"],
      [openAiError(401, "nobody"), "502 upstream_error"],
    ] as const) {
      const { id, credential } = await store(alice);
      world.provider.reset();
      world.provider.script(refusal);
      expect(await outcome(alice, { ...base, previous_response_id: id })).toBe(ending);
      expect(new Set(credentialsSeen())).toEqual(new Set([credential]));
      // The others are as good as before.
      world.provider.reset();
      expect(await outcome(alice, base)).toBe("answered");
      expect(credentialsSeen()).not.toContain(credential);
    }
    // A pool in which no key rests.
    await world.reload((config) => config);
  });

  test("is not found with one that another credential has given", async () => {
    const first = await store(alice);
    const second = await storeWithAnother(first);
    world.provider.reset();
    const items = [first, second].map(({ id }) => ({ type: "item_reference", id }));
    expect(await outcome(alice, { ...base, input: items })).toBe("404 not_found input[1].id");
    expect(world.provider.requests).toEqual([]);
  });

  test("is not found once that credential is taken out of the pool, and is found again with it", async () => {
    const { id, credential } = await store(alice);
    const name = pool.find((each) => credential === `Bearer ${upstreamKeys[each]}`);
    await world.reload((config) => config.replace(new RegExp(`"env:${name}"(, )?(?=.*TEST_|\\])`), ""));
    world.provider.reset();
    expect(await outcome(alice, { ...base, previous_response_id: id })).toBe(
      "400 previous_response_not_found previous_response_id",
    );
    expect(world.provider.requests).toEqual([]);
    await world.reload((config) => config);
    expect(await outcome(alice, { ...base, previous_response_id: id })).toBe("answered");
    expect(credentialsSeen()).toEqual([credential]);
  });

  test("is asked for with the only credential there is, whose secret may have been renewed", async () => {
    await world.reload((config) => config.replace(/api_key = \[.*\]/, 'api_key = "env:TEST_BEDROCK_KEY"'));
    const { id } = await store(alice);
    await world.reload((config) => config.replace(/api_key = \[.*\]/, 'api_key = "env:TEST_GEMINI_KEY"'));
    world.provider.reset();
    expect(await outcome(alice, { ...base, previous_response_id: id })).toBe("answered");
    expect(credentialsSeen()).toEqual([`Bearer ${upstreamKeys.TEST_GEMINI_KEY}`]);
    await world.reload((config) => config);
  });
});

describe("a previous response that cannot be continued", () => {
  const notFound = "400 previous_response_not_found previous_response_id";

  test("has the code that clients recover by, whoever's it is and wherever it is", async () => {
    const { id } = await store(alice);
    world.provider.reset();
    expect(await outcome(bob, { ...base, previous_response_id: id })).toBe(notFound);
    expect(await outcome(alice, { ...base, previous_response_id: fresh("resp_") })).toBe(notFound);
    expect(await outcome(alice, { ...base, model: "gpt-test", previous_response_id: id })).toBe(notFound);
    expect(await outcome(alice, { ...base, model: "claude-test", previous_response_id: id })).toBe(notFound);
    expect(world.provider.requests).toEqual([]);
  });
});

describe("an item without the content that it stands for", () => {
  const id = fresh("msg_");
  const text = [{ type: "output_text", text: "Hi", annotations: [] }];

  for (const item of [
    { id },
    { id, type: "", role: "" },
    { id, type: null, role: "" },
    { id, type: "message", role: "assistant" },
    { id, type: "message", role: "assistant", content: [] },
    { id, type: "message", role: "assistant", content: "" },
    { id, type: "message", role: "", content: null },
    { id, type: "message", role: "assistant", content: {}, note: "x" },
    { id, type: "", role: "assistant", status: "completed" },
    { id, type: "reasoning", summary: [] },
    { id, type: "reasoning", summary: [{ type: "summary_text", text: "x" }], encrypted_content: null },
    { id, type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "x" }] },
    { id, type: "reasoning", summary: [], encrypted_content: "" },
    { id, type: "compaction" },
    { id, type: "compaction", encrypted_content: "" },
    { id, type: "image_generation_call", status: "completed", result: null },
    { id, type: "image_generation_call", status: "completed", result: "" },
    { id, type: "image_generation_call", status: "completed", result: {} },
    { id, type: "function_call", call_id: "call_1", status: "completed" },
    { id, type: "web_search_call", status: "completed" },
    { id, type: "something_new", phase: "x" },
    { id, type: "item_reference", content: "x" },
  ] as JsonObject[]) {
    test(`is its key's: ${JSON.stringify({ ...item, id: undefined })}`, async () => {
      const body = { ...base, model: "gpt-test", input: [{ role: "user", content: "x" }, item] };
      expect(await outcome(bob, body)).toBe("404 not_found input[1].id");
      expect(world.provider.requests).toEqual([]);
      world.provider.script(
        json({ ...response, id: fresh("resp_"), output: [{ id, ...item, content: text }] }),
      );
      expect(await outcome(alice, { ...base, model: "gpt-test" })).toBe("answered");
      expect(await outcome(alice, body)).toBe("answered");
      expect(await outcome(bob, body)).toBe("404 not_found input[1].id");
    });
  }

  test("is none where the content is there, whatever id it has", async () => {
    const input = [
      { id, type: "message", role: "assistant", content: text },
      { id, role: "assistant", content: "Hi" },
      { id, type: "reasoning", summary: [], encrypted_content: "gAAA" },
      { id, type: "image_generation_call", result: "AAAA" },
      { id, type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
      { id, type: "web_search_call", status: "completed", action: { type: "search", query: "x" } },
      { type: "reasoning", summary: [] },
    ];
    expect(await outcome(bob, { ...base, model: "gpt-test", input })).toBe("answered");
  });

  test("is its key's if any of the model's providers would look it up", async () => {
    const input = [{ id, type: "reasoning", summary: [] }];
    expect(await outcome(bob, { ...base, model: "mixed-test", input })).toBe("404 not_found input[0].id");
    world.provider.script(
      json({ ...response, id: fresh("resp_"), output: [{ id: `${id}x`, type: "reasoning" }] }),
    );
    expect(await outcome(bob, { ...base, model: "mixed-test" })).toBe("answered");
    world.provider.reset();
    const given = [{ id: `${id}x`, type: "reasoning", summary: [] }];
    expect(await outcome(bob, { ...base, model: "mixed-test", input: given })).toBe("answered");
    expect(world.provider.requests[0]?.path).toBe("/openai/v1/responses");
  });

  test("is looked up by nobody where the request is translated", async () => {
    const input = [
      { role: "user", content: "x" },
      { id, type: "reasoning", summary: [] },
      { role: "user", content: "y" },
    ];
    expect(await outcome(bob, { ...base, model: "claude-test", input })).toBe("answered");
    expect(JSON.stringify(world.provider.requests[0]?.body)).not.toContain(id);
  });
});

describe("an answer that a new one is compared with", () => {
  const messages = "/v1/messages";
  const user = { role: "user", content: "Hello" };
  const claude = { model: "claude-test", max_tokens: 100, messages: [user] };
  const message = JSON.parse(fixture("messages/text.json")) as JsonObject;
  const compared = (id: string | null) => ({ ...claude, diagnostics: { previous_message_id: id } });
  const notFound = "404 not_found";

  for (const stream of [false, true]) {
    test(`is its key's, ${stream ? "streamed" : "whole"}`, async () => {
      const id = fresh("msg_");
      const events = fixture("messages/text.sse").replaceAll(/"id":"msg_\w+"/g, `"id":"${id}"`);
      world.provider.script(stream ? sse(events) : json({ ...message, id }));
      expect(await outcome(alice, { ...compared(null), stream }, messages)).toBe("answered");
      world.provider.reset();
      expect(await outcome(bob, compared(id), messages)).toBe(notFound);
      expect(world.provider.requests).toEqual([]);
      expect(await outcome(alice, compared(id), messages)).toBe("answered");
      expect(world.provider.requests[0]?.body["diagnostics"]).toEqual({ previous_message_id: id });
    });
  }

  test("may be one that was written here, which no provider knows", async () => {
    const translated = await world.ask(alice, {
      path: messages,
      body: { ...compared(null), model: "gpt-test" },
    });
    const { id } = (await translated.json()) as { id: string };
    expect(await outcome(alice, compared(id), messages)).toBe("answered");
  });

  test("binds the new one to no provider", async () => {
    const id = fresh("msg_");
    world.provider.script(json({ ...message, id }));
    expect(await outcome(alice, compared(null), messages)).toBe("answered");
    world.provider.reset();
    expect(await outcome(alice, { ...compared(id), model: "claude-spare" }, messages)).toBe("answered");
    expect(world.provider.requests[0]?.path).toStartWith("/spare/");
  });

  test("is left out where the request is translated", async () => {
    const body = { ...compared(fresh("msg_01")), model: "gpt-test" };
    expect(await outcome(bob, body, messages)).toBe("answered");
  });

  test("is its key's at OpenAI, too", async () => {
    const { id } = await store(alice);
    const body = { ...base, prompt_cache_options: { comparison_response_id: id } };
    expect(await outcome(bob, body)).toBe("404 not_found prompt_cache_options.comparison_response_id");
    expect(await outcome(alice, body)).toBe("answered");
  });
});

describe("a file that the provider itself would open", () => {
  const files = "https://generativelanguage.googleapis.com/v1beta/files/abc";
  const chatOf = (url: string, model: string): JsonObject => ({
    model,
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
  });
  const chat = "/v1/chat/completions";
  const param = "messages[0].content[0].image_url.url";

  for (const url of [
    files,
    `${files}?x=${"y".repeat(200)}`,
    "https://GenerativeLanguage.googleapis.com.:443/v1beta/files/abc",
    "gs://bucket/file.png",
    "GS://bucket/file.png",
    "s3://bucket/file.png",
    "ms://cq1f2e3d4c5b6a7980",
    " asset://abc",
    "//generativelanguage.googleapis.com/v1beta/files/abc",
  ]) {
    test(`is not found: ${url.slice(0, 70)}`, async () => {
      expect(await outcome(alice, chatOf(url, "gemini-test"), chat)).toBe(`404 not_found ${param}`);
      const long = chatOf(url, "gemini-test");
      const text = { role: "user", content: "a line of text\n".repeat(2000) };
      const messages = [...(long["messages"] as JsonObject[]), text];
      expect(await outcome(alice, { ...long, messages }, chat)).toBe(`404 not_found ${param}`);
      expect(world.provider.requests).toEqual([]);
    });
  }

  test("is one at the provider's own address", async () => {
    const own = `${world.provider.url}/v1beta/files/abc.png`;
    expect(await outcome(alice, chatOf(own, "gemini-test"), chat)).toBe(`404 not_found ${param}`);
    const image = { type: "input_image", image_url: own };
    const input = [{ role: "user", content: [image] }];
    expect(await outcome(alice, { ...base, input })).toBe("404 not_found input[0].content[0].image_url");
    const source = { type: "url", url: own };
    const messages = [{ role: "user", content: [{ type: "document", source }] }];
    const claude = { model: "claude-test", max_tokens: 9, messages };
    for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
      expect(await outcome(alice, claude, path)).toBe("404 not_found");
    }
    expect(world.provider.requests).toEqual([]);
  });

  test("is not found if any of the model's providers would open it", async () => {
    expect(await outcome(alice, chatOf(files, "mixed-test"), chat)).toBe(`404 not_found ${param}`);
    expect(world.provider.requests).toEqual([]);
  });

  test("is none elsewhere on the web, nor in the request itself", async () => {
    world.provider.script(json(JSON.parse(fixture("chat/text.json"))));
    for (const url of [
      "https://example.com/a.png",
      "https://storage.googleapis.com/public/a.png",
      files,
      "data:image/png;base64,iVBORw0KGgo=",
      "iVBORw0KGgo=",
      "ftp://127.0.0.1/a.png",
    ]) {
      expect(await outcome(alice, chatOf(url, "gpt-test"), chat)).toBe("answered");
    }
  });
});

test("what is stored for an account goes by many names, and belongs to nobody unless it was given", async () => {
  const named: [JsonObject, string][] = [
    [{ type: "file_search", vector_store_ids: ["vs_1"] }, "tools[0].vector_store_ids[0]"],
    [{ type: "mcp", server_label: "internal", tunnel_id: "tunnel_1" }, "tools[0].tunnel_id"],
    [
      { type: "shell", environment: { skills: [{ skill_id: "skill_1" }] } },
      "tools[0].environment.skills[0].skill_id",
    ],
  ];
  for (const [tool, param] of named) {
    expect(await outcome(alice, { ...base, tools: [tool] })).toBe(`404 not_found ${param}`);
  }
  const container = { skills: [{ type: "anthropic", skill_id: "pptx" }] };
  const claude = { model: "claude-test", max_tokens: 9, messages: [{ role: "user", content: "x" }] };
  world.provider.script(json(JSON.parse(fixture("messages/text.json"))));
  expect(await outcome(alice, { ...claude, container }, "/v1/messages")).toBe("answered");
});

test("an approval is of a call that is in the request, or that the key was given", async () => {
  const approval = { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true };
  const call = {
    type: "mcp_approval_request",
    id: "mcpr_1",
    name: "drop",
    arguments: "{}",
    server_label: "db",
  };
  world.provider.script(json({ ...response, id: fresh("resp_") }));
  const ask = (...input: readonly JsonObject[]) =>
    outcome(alice, { ...base, model: "gpt-test", input: [...input] });
  expect(await ask(approval)).toBe("404 not_found input[0].approval_request_id");
  expect(await ask({ ...call, id: "mcpr_2" }, approval)).toBe("404 not_found input[1].approval_request_id");
  expect(world.provider.requests).toHaveLength(0);
  expect(await ask(call, approval)).toBe("answered");
});

test("a request names a thousand stored things at most", async () => {
  const id = fresh("resp_");
  world.provider.script(json({ ...response, id }));
  expect(await outcome(alice, { ...base, model: "gpt-test" })).toBe("answered");
  const naming = (count: number) => ({
    ...{ ...base, model: "gpt-test" },
    input: Array.from({ length: count }, () => ({ type: "item_reference", id })),
  });
  expect(await outcome(alice, naming(1000))).toBe("answered");
  expect(await outcome(alice, naming(1001))).toBe("400 invalid_request");
});

test("ids are pruned until there is nothing more to prune", async () => {
  const pruned = [1000, 1000, 999, 1000];
  let calls = 0;
  const store = { pruneIssuedIds: () => Promise.resolve(pruned[calls++] ?? 0) } as unknown as Store;
  await new ProviderIdOwners({ store, clock: systemClock }).prune();
  expect(calls).toBe(3);
});

describe("an id", () => {
  const key = keyRecord();
  const giver = { provider: "openai", credential: "c1", tokens: 7 };

  test("is kept as it is, so that ids which begin with a time are next to each other; an unusual one by its digest", () => {
    const written: (readonly string[])[] = [];
    const store = { recordIssuedIds: async ({ idKeys }: IssuedIds) => void written.push(idKeys) };
    const owners = new ProviderIdOwners({ store: store as unknown as Store, clock: systemClock });
    owners.remember(key.id, giver, ["resp_68aa01", "resp_68aa01", "has a blank"], 7);
    expect(written).toEqual([["resp_68aa01", idDigest("has a blank")]]);
  });
});
