import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { maxFormBytes } from "../../../src/gateway/metered/form/read-form.ts";
import type { RouteMount } from "../../../src/http/edge.ts";
import { drip } from "../../support/answers.ts";
import { configFor } from "../../support/config.ts";
import { edgeWith, mountedForAll, mountedForHolders } from "../../support/edge.ts";
import { answerFrom, fixture } from "../../support/fixtures.ts";
import { freePort } from "../../support/free-port.ts";
import { startNginx } from "../../support/nginx.ts";
import { type ScriptedProvider, startProvider } from "../../support/provider.ts";
import { nginxExample, proxies, proxyExample } from "../../support/proxies.ts";
import { rawExchange } from "../../support/raw.ts";
import { type Sluice, startSluice, type TestKey } from "../../support/sluice.ts";
import { StreamReader } from "../../support/sse.ts";
import { waitFor } from "../../support/wait.ts";

const adminToken = "the-token-of-this-test";

/** By the router of the program itself, so that a route that is added tomorrow is asked for, too. */
function routesOf(mounted: readonly RouteMount[]) {
  return edgeWith(mounted).routes.filter(({ method }) => method !== "ALL");
}

/** For those who run it: the page that says where everything is, and the probe of a load balancer. */
const forOperators = new Set(["/", "/readyz"]);
const forThem = new Set(
  routesOf(mountedForHolders).flatMap(({ method, path }) =>
    forOperators.has(path) ? [] : [`${method} ${path}`],
  ),
);

describe.each(Object.entries(proxies))("%s", (name, { program, start }) => {
  if (program === null) {
    test.skipIf(true)(
      `SKIPPED: ${name} is not installed, so nothing is known about streams behind it`,
      () => {},
    );
    return;
  }
  const startBefore = async (target: string) => {
    const url = `http://127.0.0.1:${freePort()}`;
    return { url, ...(await start(program, target, url)) };
  };
  let provider: ScriptedProvider;
  let sluice: Sluice;
  let key: TestKey;
  let proxy: Awaited<ReturnType<typeof startBefore>>;

  beforeAll(async () => {
    provider = startProvider();
    const head = '[server]\ntrusted_proxies = ["127.0.0.1"]\nanonymous_rpm = 5';
    const config = configFor({ url: provider.url, head });
    sluice = await startSluice({ config, env: { SLUICE_ADMIN_TOKEN: adminToken } });
    key = await sluice.createKey();
    proxy = await startBefore(sluice.url);
  }, 120_000);
  afterAll(async () => {
    proxy.stop();
    await sluice.dispose();
    provider.stop();
  });

  const ask = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };
  const through = (path: string, init: RequestInit = {}) =>
    fetch(proxy.url + path, {
      ...init,
      headers: { authorization: `Bearer ${key.key}`, ...(init.headers as Record<string, string>) },
    });

  test("a WebSocket passes through", async () => {
    const headers = { authorization: `Bearer ${key.key}` };
    const socket = new WebSocket(`${proxy.url.replace("http", "ws")}/v1/responses`, { headers });
    const said = Promise.withResolvers<string>();
    socket.onmessage = ({ data }) => said.resolve(String(data));
    socket.onclose = ({ code }) => said.reject(new Error(`closed with ${code}`));
    socket.onopen = () => socket.send("{}");
    expect(JSON.parse(await said.promise)).toMatchObject({ type: "error" });
    socket.close();
  });

  test("a stream passes through unbuffered: the provider waits until the client has read each event", async () => {
    const events = fixture("chat/text.sse").split(/(?<=\n\n)/);
    const gates = events.map(() => Promise.withResolvers<void>());
    const steps = events.flatMap((event, index) => [
      { write: event },
      { until: gates[index]?.promise ?? Promise.resolve() },
    ]);
    provider.script({ ...answerFrom("chat/text.sse"), steps });
    const body = JSON.stringify({ ...ask, stream: true, stream_options: { include_usage: true } });
    const response = await through("/v1/chat/completions", { method: "POST", body });
    expect(response.status, response.ok ? "" : await response.text()).toBe(200);
    const reader = new StreamReader(response);
    expect(events.length).toBeGreaterThan(4);
    for (const [index, event] of events.entries()) {
      await reader.until(event.trim());
      gates[index]?.resolve();
    }
    while ((await reader.nextChunk()) !== null);
    expect(reader.result().text).toBe(fixture("chat/text.sse"));
    provider.script(null);
  });

  test("a client that leaves is felt behind the proxy, and its call ends", async () => {
    provider.script(drip(answerFrom("chat/text.sse"), 300));
    const body = JSON.stringify({ ...ask, stream: true });
    const reader = new StreamReader(await through("/v1/chat/completions", { method: "POST", body }));
    await reader.until("Sluices");
    await reader.cancel();
    await waitFor(() => provider.aborted.length === 1, "the provider to be told");
    provider.reset();
  });

  test("answers come with their own status, headers and bytes", async () => {
    const whole = await through("/v1/chat/completions", { method: "POST", body: JSON.stringify(ask) });
    expect(whole.headers.get("x-request-id")).toMatch(/^req_/);
    expect(await whole.text()).toBe(fixture("chat/text.json"));
    expect((await through("/v1/chat/completions", { method: "POST", body: "{" })).status).toBe(400);
    expect((await through("/token/v1/usage")).status).toBe(401);
    expect((await through("/v1/nothing")).status).toBe(404);
  });

  test("every route of the clients and of members is let through, and no other", async () => {
    const isReached = (path: string, method: string) =>
      through(path, { method }).then(({ headers }) => headers.has("x-request-id"));
    for (const { method, path } of routesOf(mountedForAll)) {
      const isForThem = forThem.has(`${method} ${path}`);
      expect([method, path, await isReached(path, method)]).toEqual([method, path, isForThem]);
    }
  });

  test("a form may be as large as Sluice takes it", async () => {
    if (name === "Apache") {
      // It reads no answer before it has sent the whole body.
      expect(proxyExample("apache.conf", proxy.url)).toContain(`LimitRequestBody ${maxFormBytes}\n`);
      return;
    }
    const text = await rawExchange(
      proxy.url,
      `POST /v1/audio/transcriptions HTTP/1.1\r\nHost: ${new URL(proxy.url).host}\r\nAuthorization: Bearer wrong\r\n` +
        `Content-Type: multipart/form-data; boundary=x\r\nContent-Length: ${maxFormBytes}\r\nConnection: close\r\n\r\n`,
    );
    expect(text).toMatch(/^x-request-id: /im);
  });

  test("only the clients' side is let through, however a path is spelled", async () => {
    for (const path of [
      "/admin",
      "/admin/api/v1/keys",
      "/metrics",
      "/",
      "/v1/..\\admin/api/v1/keys",
      "/v1/%2e%2e/admin",
      "/usage/..\\admin/api/v1/keys",
      "/usage/%2e%2e/admin",
      "/usages",
    ]) {
      const text = await rawExchange(
        proxy.url,
        `GET ${path} HTTP/1.1\r\nHost: ${new URL(proxy.url).host}\r\nConnection: close\r\n\r\n`,
      );
      expect([400, 404], path).toContain(Number(text.slice(9, 12)));
    }
    expect((await through("/healthz")).status).toBe(200);
  });

  test("clients are told apart by X-Forwarded-For, which counts only from the trusted proxy", async () => {
    const guess = (headers: Record<string, string>) =>
      fetch(`${proxy.url}/v1/usage`, { headers: { authorization: "Bearer wrong", ...headers } });
    // Through the proxy everybody here is 127.0.0.1, whatever they write into the header themselves.
    const statuses: number[] = [];
    for (let index = 0; index < 12; index += 1) {
      statuses.push((await guess({ "x-forwarded-for": `203.0.113.${index}` })).status);
    }
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5);
    // From the trusted address itself the header is believed.
    const direct = await fetch(`${sluice.url}/v1/usage`, {
      headers: { authorization: "Bearer wrong", "x-forwarded-for": "203.0.113.200" },
    });
    expect(direct.status).toBe(401);
  });

  // The others keep their connections without being told to.
  const onlyForNginx = name === "nginx" ? test : () => {};
  onlyForNginx(
    "no path is asked for on a connection that Sluice closes behind the answer, and nginx uses again",
    async () => {
      const heads: string[] = [];
      using recorder = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: ({ url, headers }) => {
          heads.push(`${new URL(url).pathname} ${headers.get("connection")}`);
          return new Response("ok");
        },
      });
      // HTTP/1.0, which nginx speaks by default, comes with `Connection: close`.
      const recorded = await startBefore(recorder.url.href);
      for (const path of ["/v1/models", "/token/v1/usage"]) await fetch(recorded.url + path);
      recorded.stop();
      expect([...new Set(heads)].sort()).toEqual([
        "/healthz null",
        "/token/v1/usage null",
        "/v1/models null",
      ]);
    },
  );

  onlyForNginx("people can sign in to the dashboard once its location is let through", async () => {
    const url = `http://127.0.0.1:${freePort()}`;
    const closed = "# location ^~ /admin { allow 10.0.0.0/8;";
    const server = nginxExample(sluice.url, url).replace(closed, "location ^~ /admin { allow 127.0.0.1;");
    const { stop } = await startNginx(program, server, url);
    const signIn = await fetch(`${url}/admin/api/v1/session`, {
      method: "POST",
      headers: { origin: url, "content-type": "application/json" },
      body: JSON.stringify({ token: adminToken }),
    });
    stop();
    expect(signIn.status, await signIn.text()).toBe(204);
  });
});

test("a gateway that does not trust the proxy believes no header", async () => {
  const head = "[server]\nanonymous_rpm = 3";
  await using wary = await startSluice({ config: configFor({ url: "http://127.0.0.1:1", head }) });
  const statuses: number[] = [];
  for (let index = 0; index < 8; index += 1) {
    const headers = { authorization: "Bearer wrong", "x-forwarded-for": `203.0.113.${index}` };
    statuses.push((await fetch(`${wary.url}/v1/usage`, { headers })).status);
  }
  expect(statuses.slice(4)).toEqual([429, 429, 429, 429]);
});
