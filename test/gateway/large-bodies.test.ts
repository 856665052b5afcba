import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { json } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";

const adminToken = "the-right-admin-token";
const demo = '[providers.demo]\nkind = "demo"\n[[models]]\nid = "demo"\nprovider = "demo"\nfree = true\n';

let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({
    config: configFor({ url: provider.url, tail: demo }),
    // Here, the compilers of the runtime save two thirds of the CPU time.
    env: { SLUICE_ADMIN_TOKEN: adminToken, BUN_JSC_useDFGJIT: "1" },
  });
  key = await sluice.createKey({ credit: 1000 });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const picture = "iVBORw0KGgoA".repeat(200_000);
const withPicture = (model: string, more = "") =>
  `{"model":"${model}", "messages":[{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,${picture}"}}]}]${more}}`;

const chat = (body: string, headers: Record<string, string> = {}) =>
  sluice.request("/v1/chat/completions", { key, body, headers });

async function creditsOf(of: TestKey): Promise<{ used: number; reserved: number }> {
  const summary = (await (await sluice.request("/v1/usage", { key: of })).json()) as {
    credits: { used: number; reserved: number };
  };
  return summary.credits;
}

describe("a large body", () => {
  test("passes through with every byte but the model's name", async () => {
    const body = withPicture("gpt-test", ' ,"seed":1.0e2, "x":"\\u0041"');
    expect((await chat(body)).status).toBe(200);
    expect(provider.requests[0]?.text).toBe(body.replace("gpt-test", "gpt-upstream"));
  });

  test("is told from a stream, whose usage is asked for in its bytes", async () => {
    const response = await chat(withPicture("gpt-test", ',"stream":true'));
    expect(await response.text()).toContain("[DONE]");
    expect(provider.requests[0]?.body).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("is translated whole", async () => {
    expect((await chat(withPicture("claude-test"))).status).toBe(200);
    const source = { type: "base64", media_type: "image/png", data: picture };
    expect(provider.requests[0]?.body).toMatchObject({
      model: "claude-upstream",
      messages: [{ role: "user", content: [{ type: "text" }, { type: "image", source }] }],
    });
  });

  test("gets its own tools back from a provider that cannot take their names", async () => {
    const name = `a.tool.${"with_a_long_name_".repeat(8)}`;
    provider.script((request) =>
      json({
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "claude-upstream",
        content: [
          {
            type: "tool_use",
            id: "toolu_1",
            name: (request.body as unknown as { tools: [{ name: string }] }).tools[0].name,
            input: {},
          },
        ],
        stop_reason: "tool_use",
        usage: { input_tokens: 10, output_tokens: 10 },
      }),
    );
    const tools = `,"tools":[{"type":"function","function":{"name":"${name}","parameters":{"type":"object"}}}]`;
    const answer = (await (await chat(withPicture("claude-test", tools))).json()) as {
      choices: [{ message: { tool_calls: [{ function: { name: string } }] } }];
    };
    expect(answer.choices[0].message.tool_calls[0].function.name).toBe(name);
  });

  test.each([
    ["a message that is wrong", `${withPicture("gpt-test").slice(0, -2)},{"role":5}]}`, "messages[1].role"],
    ["a name that folds to another", withPicture("local-test", ',"Model":"x"'), "Model"],
    ["a wrong limit", withPicture("gpt-test", ',"max_tokens":"x"'), "max_tokens"],
  ])("with %s is refused as a small one would be", async (_what, body, param) => {
    const small = await chat(body.replace(picture, "iVBO"));
    const large = await chat(body);
    const refusals = [await small.json(), await large.json()] as { error: Record<string, unknown> }[];
    expect([small.status, large.status]).toEqual([400, 400]);
    for (const { error } of refusals) expect(error).toMatchObject({ code: "invalid_request", param });
    expect(refusals[0]?.error["message"]).toBe(refusals[1]?.error["message"]);
    expect(provider.requests).toEqual([]);
  });

  test.each([
    ["not UTF-8", (body: Buffer) => body.fill(0xff, 1_000_000, 1_000_001)],
    ["cut short", (body: Buffer) => body.subarray(0, -1)],
    [
      "too deep",
      (body: Buffer) => Buffer.concat([body.subarray(0, -1), Buffer.from(`,"x":${"[".repeat(70)}`)]),
    ],
  ])("that is %s gets 400 and no hold", async (_what, spoil) => {
    const response = await sluice.request("/v1/chat/completions", {
      key,
      body: new Uint8Array(spoil(Buffer.from(withPicture("gpt-test")))),
    });
    expect(response.status).toBe(400);
    expect(provider.requests).toEqual([]);
    expect((await creditsOf(key)).reserved).toBe(0);
  });

  test("is replayed for the same body, and refused for another, under one idempotency key", async () => {
    const headers = { "idempotency-key": "large" };
    const first = await (await chat(withPicture("gpt-test"), headers)).text();
    const again = await chat(withPicture("gpt-test"), headers);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await again.text()).toBe(first);
    expect((await chat(withPicture("gpt-test", ',"seed":1'), headers)).status).toBe(409);
    expect(provider.requests).toHaveLength(1);
  });

  test("is estimated by what its picture costs, not by its letters", async () => {
    const poor = await sluice.createKey({ credit: 0.02 });
    const response = await sluice.request("/v1/chat/completions", {
      key: poor,
      body: withPicture("gpt-test"),
    });
    expect(response.status).toBe(200);
  });

  test("is counted, too", async () => {
    const body = withPicture("claude-test").replace(
      /\{"type":"image_url".*?\}\}/,
      `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${picture}"}}`,
    );
    const response = await sluice.request("/v1/messages/count_tokens", { key, body });
    expect(await response.json()).toEqual({ input_tokens: 25 });
  });

  test("is refused by the demo", async () => {
    const response = await chat(withPicture("demo"));
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("up to 1 MB")]);
  });

  test("of many small members goes the same way, however few its bytes are", async () => {
    const members = Array.from({ length: 20_000 }, (_, index) => `"${index}":1`).join(",");
    const body = `{"model":"gpt-test","messages":[{"role":"user","content":"x"}],"metadata":{${members}}}`;
    expect((await chat(body)).status).toBe(200);
    expect(provider.requests[0]?.text).toBe(body.replace("gpt-test", "gpt-upstream"));
  });
});

describe("nobody waits for a large body of somebody else", () => {
  const size = 31 * 1024 * 1024;
  const start = '{"model":"demo","messages":[{"role":"user","content":"x"}]';
  const shapes: readonly (readonly [string, () => string])[] = [
    [
      "of messages of which the last is wrong",
      () => `{"model":"demo","messages":[${'{"role":"user","content":""},'.repeat(1_000_000)}{"role":1}]}`,
    ],
    ["of a million members", () => `${start},"x":{${'"a":1,'.repeat(5_000_000)}"b":1}}`],
    [
      "of 99,000 members with long names",
      () =>
        `${start},"x":{${Array.from({ length: 99_000 }, (_, index) => `"${"n".repeat(300)}${index}":1`).join(",")}}}`,
    ],
    [
      "of 99,000 different names",
      () => `${start},${Array.from({ length: 99_000 }, (_, index) => `"4294${index}":1`).join(",")}}`,
    ],
    [
      "of 9,900 messages of which the last is wrong",
      () =>
        `{"model":"demo","messages":[${`{"role":"user","content":"${"x".repeat(3000)}"},`.repeat(9_900)}{"role":1}]}`,
    ],
    ["of empty lists", () => `${start},"x":[${"[],".repeat(size / 3)}[]]}`],
    [
      "of escapes",
      () => `{"model":"demo","messages":[{"role":"user","content":"${"\\n".repeat(size / 2)}"}]}`,
    ],
    ["of space", () => `${start}${" ".repeat(size)}}`],
    ["of one number", () => `${start},"x":${"1".repeat(size)}}`],
    ["of open brackets", () => `${start},"x":${"[".repeat(size)}`],
    [
      "of a picture",
      () =>
        `{"model":"demo","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${"iVBO".repeat(size / 4)}"}}]}]}`,
    ],
  ];

  /** A process of its own asks the gateway something small all the while; this one is busy with large bodies. */
  test.each(shapes)(
    "%s",
    async (_what, body) => {
      const prober = Bun.spawn(
        [process.execPath, new URL("probing-process.ts", import.meta.url).pathname, sluice.url],
        {
          stdin: "pipe",
          stdout: "pipe",
        },
      );
      const response = await sluice.request("/v1/chat/completions", { key, body: body() });
      expect([200, 400], await response.text()).toContain(response.status);
      prober.stdin.end();
      // It was up to nine seconds; a machine that runs other tests may be late by itself.
      expect(Number(await new Response(prober.stdout).text())).toBeLessThan(2000);
    },
    60_000,
  );
});
