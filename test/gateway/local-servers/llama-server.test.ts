import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { llamaServer, llamaText, llamaUsage } from "../../support/local-servers/llama-server.ts";
import { hello, paths } from "../wire-answers.ts";
import { type Caller, World } from "../world.ts";

const local = (id: string, more = "") =>
  `[[models]]\nid = "${id}"\nprovider = "llama"\nupstream_model = "secret-${id}.gguf"\nfree = true\nmax_output_tokens = 200\n${more}\n`;

const tail = `
[providers.llama]
kind = "openai-compatible"
base_url = "PROVIDER_URL/v1"
[providers.second]
kind = "openai-compatible"
base_url = "PROVIDER_URL/v1"
[providers.counting]
kind = "openai-compatible"
base_url = "PROVIDER_URL/v1"
dialects = ["responses", "chat"]
count_tokens = true
${local("llama")}
${local("blind", "capabilities = { vision = false }")}
${local("vectors", 'serves = ["embeddings"]')}
[[models]]
id = "counting"
provider = "counting"
free = true
[[models]]
id = "spare"
free = true
max_output_tokens = 200
[[models.deployments]]
provider = "llama"
upstream_model = "secret-spare.gguf"
priority = 1
[[models.deployments]]
provider = "second"
upstream_model = "tiny.gguf"
priority = 2
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

const png = "iVBORw0KGgo=";
const pictures = {
  chat: { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
  responses: { type: "input_image", image_url: `data:image/png;base64,${png}` },
  messages: { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
};
const withImage = (dialect: (typeof dialects)[number], model: string) => {
  const said = [{ role: "user", content: [pictures[dialect]] }];
  return dialect === "responses" ? { model, input: said } : { model, messages: said };
};

async function messageOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: { message: string } };
  return error.message;
}

describe.each(dialects)("llama-server for a client of %s", (dialect) => {
  test.each([false, true])("answers with its usage, stream: %p", async (stream) => {
    world.provider.script(llamaServer());
    const response = await ask(dialect, hello(dialect, "llama", { stream }));
    expect(response.status).toBe(200);
    const text = await response.text();
    for (const word of llamaText.split(" ")) expect(text).toContain(word);
    const [sum] = (await world.chargesOf(caller)).slice(-1);
    expect(sum).toMatchObject({ amount: 0, basis: "measured", outcome: "completed" });
    expect(world.observed.at(-1)?.usage).toMatchObject({ outputTokens: llamaUsage.output });
  });

  test("refuses an image that it cannot read in words, once", async () => {
    world.provider.script(llamaServer());
    const response = await ask(dialect, withImage(dialect, "llama"));
    expect(response.status).toBe(400);
    expect(await messageOf(response)).toStartWith("image input is not supported");
    expect(world.provider.requests).toHaveLength(1);
  });

  test("is not sent an image that its model is known not to read", async () => {
    world.provider.script(llamaServer());
    const response = await ask(dialect, withImage(dialect, "blind"));
    expect(response.status).toBe(400);
    expect(await messageOf(response)).toBe(
      'Model "blind" does not support images. Send only text, or use a model with vision.',
    );
    expect(world.provider.requests).toHaveLength(0);
    expect((await ask(dialect, hello(dialect, "blind"))).status).toBe(200);
  });

  test("refuses what exceeds its window with both numbers", async () => {
    world.provider.script(llamaServer());
    const long = "canal ".repeat(900);
    const said = { messages: [{ role: "user", content: long }] };
    const body = dialect === "responses" ? { input: long } : said;
    const response = await ask(dialect, { model: "llama", ...body });
    expect(response.status).toBe(400);
    const pattern =
      dialect === "messages" ? /^prompt is too long: \d+ tokens > 1024 maximum$/ : /1024 tokens/;
    expect(await messageOf(response)).toMatch(pattern);
  });

  test("fails over when its router lacks the model, whose name the client never sees", async () => {
    world.provider.script(llamaServer({ router: { "tiny.gguf": true } }));
    expect((await ask(dialect, hello(dialect, "spare"))).status).toBe(200);
    expect(world.provider.requests).toHaveLength(2);
    const alone = await ask(dialect, hello(dialect, "llama"));
    expect(alone.status).toBe(502);
    expect(await alone.text()).not.toContain("secret");
  });

  test("says that it loads its model", async () => {
    world.provider.script(llamaServer({ isLoading: true }));
    const response = await ask(dialect, hello(dialect, "llama"));
    expect(response.status).toBe(503);
    expect(await messageOf(response)).toMatch(/^The provider is still loading the model\. Retry in \d+ s\.$/);
  });
});

test("embeddings without --embeddings are refused in words, once", async () => {
  world.provider.script(llamaServer());
  const body = { model: "vectors", input: "lock" };
  const response = await world.ask(caller, { path: "/v1/embeddings", body });
  expect(response.status).toBe(400);
  expect(await messageOf(response)).toStartWith("This server does not support embeddings");
  expect(world.provider.requests).toHaveLength(1);
});

test("a compatible server counts the input of responses where count_tokens says so", async () => {
  world.provider.script(llamaServer());
  const count = async (model: string) => {
    const response = await world.ask(caller, {
      path: "/v1/responses/input_tokens",
      body: { model, input: "canal" },
    });
    return [response.headers.get("x-sluice-count"), await response.json()];
  };
  expect(await count("counting")).toEqual([
    "exact",
    { object: "response.input_tokens", input_tokens: llamaUsage.input },
  ]);
  expect((await count("llama"))[0]).toBe("estimate");
});
