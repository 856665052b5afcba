import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { pairs, talker } from "../gateway/pairs.ts";
import { hello, paths, streamAnswer, usageOf, wholeAnswer } from "../gateway/wire-answers.ts";
import { type Caller, World } from "../gateway/world.ts";
import { bytesOf, cutBefore, heldBefore, openAiError, splitAt, sse } from "../support/answers.ts";
import { upstreamKeys } from "../support/config.ts";
import { waitFor } from "../support/wait.ts";
import { lastRecorded, textIn } from "./recorded-documents.ts";

const text = "Sluices keep the canal navigable.";

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: `${talker}\n[content]\nrecord_upstream = true\n` });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const recordedFor = (caller: Caller) => lastRecorded(world, caller);

/** Ids, times and figures differ from request to request, and a stream need not name what is null. */
function shapeOf(value: unknown): unknown {
  const own = /^(id|item_id|created|created_at|completed_at|usage)$/;
  return JSON.parse(
    JSON.stringify(value, (name, each) => (own.test(name) ? "…" : each === null ? undefined : each)),
  );
}

for (const { client, model, provider } of pairs) {
  const isTranslated = client !== provider;
  const usage = usageOf(provider, 7, 5);
  const name = `${client} from ${provider}`;

  describe(name, () => {
    test("a whole response is recorded as the client got it", async () => {
      const caller = await world.creditCaller();
      world.provider.script(wholeAnswer(provider, { text, usage }));
      const body = hello(client, model, { max_tokens: 50, unknown_field: { kept: true } });
      const response = await world.ask(caller, { path: paths[client], body });
      expect(response.headers.get("x-sluice-content")).toBe("recorded");
      const got = await response.json();
      const document = await recordedFor(caller);
      expect(document.id).toBe(response.headers.get("x-request-id") ?? "");
      expect(document).toMatchObject({
        model,
        key: caller.key.prefix,
        outcome: "completed",
        status: 200,
        route: paths[client],
      });
      expect(document.request).toEqual(body as never);
      expect(document.response).toEqual(got as never);
      expect([document.request_cut, document.response_cut]).toEqual([0, 0]);
      expect(document.upstream === null).toBe(!isTranslated);
      if (isTranslated) expect(textIn(document.upstream?.response)).toBe(text);
      if (isTranslated) expect(JSON.stringify(document.upstream?.request)).toContain("Hello");
    });

    test("a stream is recorded as the response that it would have been without `stream`", async () => {
      const caller = await world.creditCaller();
      world.provider.script(wholeAnswer(provider, { text, usage }));
      const body = hello(client, model, { max_tokens: 50 });
      const whole = await (await world.ask(caller, { path: paths[client], body })).json();
      world.provider.script(
        streamAnswer(provider, { text, usage, firstUsage: provider === "messages" ? usage : undefined }),
      );
      const response = await world.ask(caller, { path: paths[client], body: { ...body, stream: true } });
      await response.text();
      const document = await recordedFor(caller);
      expect(document.outcome).toBe("completed");
      expect(shapeOf(document.response)).toEqual(shapeOf(whole));
      const reported = JSON.stringify((document.response as { usage?: unknown }).usage);
      expect(reported).toMatch(/"(?:input|prompt)_tokens":7\b/);
      expect(reported).toMatch(/"(?:output|completion)_tokens":5\b/);
      if (isTranslated) expect(textIn(document.upstream?.response)).toBe(text);
    });

    test("a stream that breaks is recorded as far as it came", async () => {
      const caller = await world.creditCaller();
      world.provider.script(cutBefore(streamAnswer(provider, { text, usage }), "canal"));
      const body = hello(client, model, { max_tokens: 50, stream: true });
      await (await world.ask(caller, { path: paths[client], body })).text();
      const document = await recordedFor(caller);
      expect(document.outcome).toBe("failed");
      expect(textIn(document.response)).toStartWith("Sluices keep");
      expect(textIn(document.response)).not.toContain("canal");
      expect(JSON.stringify(document.response)).toContain('"error"');
    });

    test("a stream that the client cancels is recorded as far as it came", async () => {
      const caller = await world.creditCaller();
      const { promise: until, resolve } = Promise.withResolvers<void>();
      world.provider.script(heldBefore(streamAnswer(provider, { text, usage }), "canal", until));
      const body = hello(client, model, { max_tokens: 50, stream: true });
      const leaving = new AbortController();
      const response = await world.ask(caller, { path: paths[client], body, signal: leaving.signal });
      const reader = response.body?.getReader();
      let seen = "";
      while (!seen.includes("keep")) seen += Buffer.from((await reader?.read())?.value ?? "").toString();
      leaving.abort();
      await waitFor(
        () => world.observed.some(({ keyId, outcome }) => keyId === caller.key.id && outcome === "cancelled"),
        "the cancel",
      );
      resolve();
      const document = await recordedFor(caller);
      expect(document.outcome).toBe("cancelled");
      expect(textIn(document.response)).toStartWith("Sluices keep");
      expect(textIn(document.response)).not.toContain("navigable");
    });

    test("a whole response that the client does not wait for is null", async () => {
      const caller = await world.creditCaller();
      const { promise: until, resolve } = Promise.withResolvers<void>();
      world.provider.script(heldBefore(wholeAnswer(provider, { text, usage }), "canal", until));
      const leaving = new AbortController();
      const body = hello(client, model, { max_tokens: 50 });
      const ask = { path: paths[client], body, signal: leaving.signal };
      const arriving = world.provider.nextRequest();
      const asking = world.ask(caller, ask).catch(() => null);
      await arriving;
      leaving.abort();
      await asking;
      await waitFor(() => world.observed.some(({ keyId }) => keyId === caller.key.id), "the end");
      resolve();
      expect(await recordedFor(caller)).toMatchObject({
        outcome: "cancelled",
        request: body,
        response: null,
      });
    });

    test("a whole response that breaks is recorded as the error that the client got", async () => {
      const caller = await world.creditCaller();
      world.provider.script(cutBefore(wholeAnswer(provider, { text, usage }), "canal"));
      const body = hello(client, model, { max_tokens: 50 });
      const response = await world.ask(caller, { path: paths[client], body });
      const got = await response.json();
      const document = await recordedFor(caller);
      expect(document).toMatchObject({ outcome: "failed", status: response.status, request: body });
      expect(document.response).toEqual(got as never);
      expect(JSON.stringify(got)).toContain("error");
    });

    test("a stream that fails before it begins is recorded as the error that the client got", async () => {
      const caller = await world.creditCaller();
      world.provider.script(openAiError(503, "not now"));
      const body = hello(client, model, { max_tokens: 50, stream: true });
      const response = await world.ask(caller, { path: paths[client], body });
      const got = await response.json();
      const document = await recordedFor(caller);
      expect(document).toMatchObject({ outcome: "failed", status: response.status, request: body });
      expect(document.response).toEqual(got as never);
    });

    test("a provider's error is recorded as the client got it", async () => {
      const caller = await world.creditCaller();
      world.provider.script(openAiError(400, "invalid_request_error", "no such thing"));
      const body = hello(client, model, { max_tokens: 50 });
      const response = await world.ask(caller, { path: paths[client], body });
      const got = await response.json();
      const document = await recordedFor(caller);
      expect(document.response).toEqual(got as never);
      expect(document).toMatchObject({ outcome: "rejected", status: 400, request: body });
    });
  });
}

test("rejected requests are recorded, but for those without a key", async () => {
  const caller = await world.creditCaller();
  const unknown = await world.ask(caller, { path: paths.chat, body: hello("chat", "no-such-model") });
  expect(unknown.status).toBe(404);
  expect(await recordedFor(caller)).toMatchObject({
    status: 404,
    request: { model: "no-such-model" },
    response: { error: {} },
  });
  const broken = await fetch(`${world.running.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${caller.secret}` },
    body: '{"model": ',
  });
  expect(broken.status).toBe(400);
  expect(await recordedFor(caller)).toMatchObject({ status: 400, request: '{"model": ' });
  const before = (await world.gateway.content?.sizes())?.rows;
  const stranger = { ...caller, secret: "slu_nobody" };
  expect((await world.ask(stranger, { path: paths.chat, body: hello("chat", "gpt-test") })).status).toBe(401);
  expect((await world.gateway.content?.sizes())?.rows).toBe(before ?? -1);
});

test("known secrets are removed, however they are written", async () => {
  const caller = await world.creditCaller();
  const secret = Object.values(upstreamKeys)[0] ?? "";
  const escaped = [...secret]
    .map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
  // JSON within a string of JSON has escapes of its own.
  const nested = escaped.replaceAll("\\", "\\\\");
  world.provider.script(wholeAnswer("chat", { text: `never say ${secret}` }));
  const response = await fetch(`${world.running.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${caller.secret}` },
    body: `{"model":"gpt-test","messages":[{"role":"user","content":"${escaped} and ${caller.secret} and slua_${"a".repeat(32)}"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\\"k\\":\\"${nested}\\"}"}}]}],"user":"${secret}"}`,
  });
  await response.text();
  const written = JSON.stringify(await recordedFor(caller));
  for (const each of [secret, caller.secret, "slua_a"]) expect(written).not.toContain(each);
  expect(written).toContain("[secret] and [secret] and [secret]");
  expect(written).toContain("never say [secret]");
  expect(written).toContain('{\\"k\\":\\"[secret]\\"}');
  expect(written).not.toContain("u0073");
});

test("a secret that comes in pieces is removed from what the pieces are joined to", async () => {
  const caller = await world.creditCaller();
  const secret = Object.values(upstreamKeys)[0] ?? "";
  const whole = Buffer.from(bytesOf(streamAnswer("chat", { text: `never say ${secret} aloud` }))).toString();
  const pieces = whole.replace(/data: [^\n]*canary[^\n]*\n\n/, (event) =>
    [` ${secret.slice(0, 9)}`, secret.slice(9)].map((piece) => event.replace(` ${secret}`, piece)).join(""),
  );
  expect(pieces).not.toContain(secret);
  const stream = sse(pieces);
  world.provider.script(
    splitAt(
      stream,
      Array.from({ length: pieces.length / 7 }, (_, no) => no * 7),
      0,
    ),
  );
  const body = hello("chat", "gpt-test", { stream: true });
  await (await world.ask(caller, { path: paths.chat, body })).text();
  expect(textIn((await recordedFor(caller)).response)).toMatch(/^never say \[secret\] aloud$/);
});

test("data becomes its type, size and SHA-256", async () => {
  const caller = await world.creditCaller();
  const image = crypto.getRandomValues(new Uint8Array(3000));
  const sha256 = createHash("sha256").update(image).digest("hex");
  world.provider.script(wholeAnswer("chat", { text }));
  const url = `data:image/png;base64,${Buffer.from(image).toString("base64")}`;
  const content = [
    { type: "text", text: "what is this?" },
    { type: "image_url", image_url: { url } },
    { type: "image_url", image_url: { url: "data:image/png;base64,aGVsbG8=" } },
  ];
  const body = { model: "gpt-test", messages: [{ role: "user", content }] };
  await (await world.ask(caller, { path: paths.chat, body })).text();
  const { request } = await recordedFor(caller);
  expect(request).toEqual({
    model: "gpt-test",
    messages: [
      {
        role: "user",
        content: [
          content[0],
          { type: "image_url", image_url: { url: { type: "image/png", bytes: 3000, sha256 } } },
          content[2],
        ],
      },
    ],
  } as never);
});

test("who wants nothing to be recorded is obeyed: the client, the key, the account", async () => {
  const rows = async () => (await world.gateway.content?.sizes())?.rows ?? -1;
  const ask = async (caller: Caller, headers = {}) => {
    world.provider.script(wholeAnswer("chat", { text }));
    const response = await world.ask(caller, { path: paths.chat, body: hello("chat", "gpt-test"), headers });
    await response.text();
    await world.settled();
    return response.headers.get("x-sluice-content");
  };
  const caller = await world.creditCaller();
  const before = await rows();
  expect(await ask(caller, { "x-sluice-content": "none" })).toBeNull();
  expect(world.provider.requests.at(-1)?.headers).not.toHaveProperty("x-sluice-content");
  expect(await rows()).toBe(before);
  expect(await ask(caller, { "x-sluice-content": "all please" })).toBe("recorded");
  await world.running.store.updateKey(caller.key.id, { content: "failed" });
  await world.gateway.catchUp();
  expect(await ask(caller)).toBe("may-be-recorded");
  expect(await rows()).toBe(before + 1);
  await world.running.store.updateAccount(caller.key.accountId, { content: "none" });
  await world.gateway.catchUp();
  expect(await ask(caller)).toBeNull();
  expect(await rows()).toBe(before + 1);
});

test("a body above its maximum is cut inside its long strings, and stays JSON", async () => {
  const caller = await world.creditCaller();
  world.provider.script(wholeAnswer("chat", { text }));
  const long = "canal ".repeat(400_000);
  const body = {
    model: "gpt-test",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: long },
    ],
  };
  await (await world.ask(caller, { path: paths.chat, body })).text();
  const { request, request_cut: cut } = await recordedFor(caller);
  const written = JSON.stringify(request);
  expect(written.length).toBeLessThanOrEqual(1_000_000);
  expect(written.length).toBeGreaterThan(990_000);
  expect(cut).toBe(Buffer.byteLength(JSON.stringify(body)) - Buffer.byteLength(written));
  expect(JSON.stringify(request)).toContain("Be brief.");
});
