import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { llamaText } from "../../support/local-servers/llama-server.ts";
import { ollama, ollamaUsage } from "../../support/local-servers/ollama.ts";
import { hello, paths } from "../wire-answers.ts";
import { type Caller, World } from "../world.ts";

const models = {
  "qwen3:latest": { capabilities: ["completion", "tools", "thinking"], trained: 40_960 },
  "llama3.2:latest": { capabilities: ["completion", "tools"], trained: 131_072 },
};

const model = (id: string, more: string) =>
  `[[models]]\nid = "${id}"\nprovider = "ollama"\nfree = true\nmax_output_tokens = 200\n${more}\n`;
const tail = `
[providers.ollama]
kind = "openai-compatible"
base_url = "PROVIDER_URL/v1"
${model("qwen3", "capabilities = { reasoning = true, effort_none = true }")}
${model("undeclared", 'upstream_model = "qwen3"')}
${model("llama3.2", "")}
${model("vectors", 'upstream_model = "llama3.2"\nserves = ["embeddings"]')}
`;

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller();
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const dialects = ["chat", "responses", "messages"] as const;
const limits = { chat: {}, responses: {}, messages: { max_tokens: 100 } };
const ask = (dialect: (typeof dialects)[number], body: object) =>
  world.ask(caller, { path: paths[dialect], body: { ...limits[dialect], ...body } });

describe.each(dialects)("Ollama for a client of %s", (dialect) => {
  test.each([false, true])("answers with its usage, stream: %p", async (stream) => {
    world.provider.script(ollama(models));
    const response = await ask(dialect, hello(dialect, "qwen3", { stream }));
    expect(response.status).toBe(200);
    const text = await response.text();
    for (const word of llamaText.split(" ")) expect(text).toContain(word);
    expect(await world.chargesOf(caller)).toContainEqual({
      amount: 0,
      basis: "measured",
      outcome: "completed",
    });
    expect(world.observed.at(-1)?.usage).toMatchObject({
      inputTokens: ollamaUsage.input,
      outputTokens: ollamaUsage.output,
    });
  });
});

test("an image that its model cannot read is refused in words, once, though Ollama wraps them in JSON", async () => {
  world.provider.script(ollama(models));
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
  const response = await ask("chat", { model: "llama3.2", messages: [{ role: "user", content: [image] }] });
  expect(response.status).toBe(400);
  const { error } = (await response.json()) as { error: { message: string } };
  expect(error.message).toBe(
    "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
  );
  expect(world.provider.requests).toHaveLength(1);
});

test("embeddings of a model that has none are refused in words, once", async () => {
  world.provider.script(ollama(models));
  const body = { model: "vectors", input: "lock" };
  const response = await world.ask(caller, { path: "/v1/embeddings", body });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("This model does not support embeddings");
  expect(world.provider.requests).toHaveLength(1);
});

const off = {
  messages: { thinking: { type: "disabled" } },
  responses: { reasoning: { effort: "none" } },
} as const;

describe.each(["messages", "responses"] as const)("thinking turned off by a client of %s", (dialect) => {
  test("is off at a model that takes the effort none", async () => {
    world.provider.script(ollama(models));
    const response = await ask(dialect, { ...hello(dialect, "qwen3"), ...off[dialect] });
    expect(response.headers.get("x-sluice-dropped")).toBeNull();
    expect(await response.text()).not.toContain("Hm.");
    expect(world.provider.requests[0]?.body["reasoning_effort"]).toBe("none");
  });

  test("is named as dropped where the model may think and nothing says that it takes none", async () => {
    world.provider.script(ollama(models));
    const response = await ask(dialect, { ...hello(dialect, "undeclared"), ...off[dialect] });
    expect(response.headers.get("x-sluice-dropped")).toBe(dialect === "messages" ? "thinking" : "reasoning");
    expect(world.provider.requests[0]?.body["reasoning_effort"]).toBeUndefined();
  });
});
