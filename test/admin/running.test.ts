import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { IssuedKeyView } from "../../src/admin/key-terms/schema.ts";
import { Sluice } from "../support/sluice.ts";

const token = "the-operators-token";

let sluice: Sluice;
afterEach(() => sluice.dispose());

function call(path: string, token: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${sluice.url}/admin/api/v1${path}`, {
    ...init,
    headers: { authorization: `Bearer ${token}` },
  });
}

const demo = '[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nfree = true\n';

describe("on a running gateway", () => {
  test("the token that the first start generates works, and still does after a restart that generates none", async () => {
    sluice = await Sluice.start();
    const file = join(sluice.folder, "data", "first-start.txt");
    const token = /slua_[0-9A-Za-z]{32}/.exec(readFileSync(file, "utf8"))?.[0] ?? "";
    rmSync(file);
    expect((await call("/health", token)).status).toBe(200);
    await sluice.stop();
    await sluice.restart();
    expect(existsSync(file)).toBe(false);
    expect((await call("/health", token)).status).toBe(200);
  });

  test("a key made or revoked by the API is so for its very next request", async () => {
    sluice = await Sluice.start({ config: demo, env: { SLUICE_ADMIN_TOKEN: token } });
    const made = await call("/keys", token, { method: "POST", body: '{"mode":"credit","credit":1}' });
    const key = (await made.json()) as IssuedKeyView;
    const body = { model: "m", messages: [{ role: "user", content: "hello" }] };
    const headers = { authorization: `Bearer ${key.key}` };
    expect((await sluice.request("/v1/chat/completions", { headers, body })).status).toBe(200);
    await call(`/keys/${key.id}/revoke`, token, { method: "POST" });
    expect((await sluice.request("/v1/chat/completions", { headers, body })).status).toBe(401);
  });

  test("a client's key opens nothing here, and the admin token nothing there", async () => {
    sluice = await Sluice.start({ env: { SLUICE_ADMIN_TOKEN: token } });
    const { key } = await sluice.createKey();
    expect((await call("/health", key)).status).toBe(401);
    expect(
      (await sluice.request("/v1/usage", { headers: { authorization: `Bearer ${token}` } })).status,
    ).toBe(401);
  });

  test("a reload with another token takes it over, and signs everybody out", async () => {
    sluice = await Sluice.start({ config: demo, env: { FIRST: token, SECOND: "the-next-operators-token" } });
    const withToken = (name: string) => `[admin]\ntoken = "env:${name}"\n${demo}`;
    await sluice.reload(withToken("FIRST"));
    const cookies = await Promise.all([signIn(), signIn()]);
    const statuses = () =>
      Promise.all(
        cookies.map(
          async (cookie) => (await sluice.request("/admin/api/v1/health", { headers: { cookie } })).status,
        ),
      );
    expect(await statuses()).toEqual([200, 200]);
    await sluice.reload(withToken("FIRST"));
    expect(await statuses()).toEqual([200, 200]);
    await sluice.reload(withToken("SECOND"));
    expect(await statuses()).toEqual([401, 401]);
    expect((await call("/health", token)).status).toBe(401);
    expect((await call("/health", "the-next-operators-token")).status).toBe(200);
  });

  async function signIn(): Promise<string> {
    const response = await sluice.request("/admin/api/v1/session", { body: { token } });
    return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  }

  test("a token that could be guessed is refused at the start", async () => {
    const start = Sluice.start({ env: { SLUICE_ADMIN_TOKEN: "fifteen-letters" } });
    const failure = await start.then(
      (started) => started.dispose(),
      (error: Error) => error.message,
    );
    expect(failure).toContain("SLUICE_ADMIN_TOKEN: must have at least 16 characters");
  });

  test("metrics are open on a listener of their own, and nothing else is there", async () => {
    const listener = Bun.serve({ port: 0, fetch: () => new Response() });
    const { port } = listener;
    await listener.stop(true);
    sluice = await Sluice.start({ config: `[admin]\nmetrics_listen = "127.0.0.1:${port}"\n${demo}` });
    expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toContain(
      "sluice_requests_in_flight 0",
    );
    expect((await fetch(`http://127.0.0.1:${port}/admin/api/v1/keys`)).status).toBe(404);
    expect((await sluice.request("/metrics")).status).toBe(401);
  });

  test("with a listener of its own, the admin side is there and nowhere else", async () => {
    const env = { SLUICE_ADMIN_TOKEN: token };
    sluice = await Sluice.start({ config: `[admin]\nlisten = "127.0.0.1:0"\n${demo}`, env });
    const url = /the dashboard is at (http:\/\/\S+?)\/admin/i.exec(sluice.output)?.[1] ?? "";
    expect(url).not.toBe(sluice.url);
    const headers = { authorization: `Bearer ${token}` };
    for (const path of [
      "/admin",
      "/admin/keys",
      "/admin/api/v1/health",
      "/admin/api/v1/session",
      "/metrics",
    ]) {
      expect((await sluice.request(path, { headers })).status, path).toBe(404);
      expect((await fetch(url + path, { headers })).status, path).toBe(200);
    }
    expect((await sluice.request("/v1/models")).status).toBe(200);
    expect((await sluice.request("/")).status).toBe(200);
    for (const path of ["/v1/models", "/token/v1/usage", "/", "/openapi.json"]) {
      expect((await fetch(url + path, { headers })).status, path).toBe(404);
    }
    const body = JSON.stringify({ mode: "credit" });
    const made = await fetch(`${url}/admin/api/v1/keys`, {
      method: "POST",
      headers: { ...headers, origin: url },
      body,
    });
    expect(made.status).toBe(200);
    // The playground calls the address that its page came from.
    const { key } = (await made.json()) as { key: string };
    const generated = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }),
    });
    expect(await generated.text()).toContain("chat.completion");
    expect((await fetch(`${url}/admin/..%2fadmin`, { headers })).status).toBe(400);
    expect(await sluice.stop()).toBe(0);
  });

  test("whoever watches the tail does not hold up the end", async () => {
    sluice = await Sluice.start({ env: { SLUICE_ADMIN_TOKEN: token } });
    const tail = await call("/tail", token);
    const reader = tail.body?.getReader();
    await reader?.read();
    expect(await sluice.stop()).toBe(0);
  });
});
