import { expect, test } from "bun:test";
import { json } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { HookServer } from "../support/hook.ts";
import { startProvider } from "../support/provider.ts";
import { startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

interface Line {
  readonly kind: string;
  readonly subject: { readonly id: string };
  readonly text: string;
  readonly since: string | null;
  readonly last_error: string | null;
}

const tail = '[alerts]\nurl = "env:ALERT_WEBHOOK_URL"\nsecret = "env:SIGNING"';
const adminToken = "slua_of-the-operator";
const body = { model: "gpt-test", messages: [{ role: "user", content: "prompt-canary" }] };

test("what needs attention is listed and told, over a kill, and by the provider's next answer it is over", async () => {
  const provider = startProvider();
  using hook = new HookServer();
  await using sluice = await startSluice({
    config: configFor({ url: provider.url, tail }),
    env: { ALERT_WEBHOOK_URL: hook.url, SIGNING: "signing-canary", SLUICE_ADMIN_TOKEN: adminToken },
  });
  const ask = (key: Awaited<ReturnType<typeof sluice.createKey>>) =>
    sluice.request("/v1/chat/completions", { key, body }).then((answer) => answer.text());
  const asAdmin = { headers: { authorization: `Bearer ${adminToken}` } };
  const told = (kind: string, ...states: string[]) =>
    waitFor(() => hook.told(kind).join() === states.join(), `the hook to be told ${kind} ${states}`);

  hook.answer = () => new Response("no", { status: 503 });
  const expiring = await sluice.createKey({ label: "trial", expires: "3d" });
  await told("key_expiring", "firing");
  await sluice.kill9();
  hook.answer = () => new Response("ok");
  await sluice.restart();
  await told("key_expiring", "firing", "firing");

  const key = await sluice.createKey();
  provider.script(json({ error: { message: "Incorrect API key: prompt-canary" } }, { status: 401 }));
  await ask(key);
  await told("provider_auth", "firing");
  const listed = await sluice.cliJson<Line[]>("status");
  expect(listed.map(({ kind, subject }) => [kind, subject.id])).toEqual([
    ["provider_auth", "openai"],
    ["key_expiring", expiring.id],
  ]);
  expect(listed[0]?.last_error).toContain("Incorrect API key");
  expect(listed[0]?.since).not.toBeNull();
  const shown = await (await sluice.request("/admin/api/v1/alerts", asAdmin)).json();
  expect(shown).toEqual({ data: listed });
  const metrics = await (await sluice.request("/metrics", asAdmin)).text();
  expect(metrics).toContain('sluice_alerts_active{kind="provider_auth",provider="openai"} 1\n');
  expect(metrics).toContain('sluice_alerts_active{kind="cap_threshold"} 0\n');
  provider.script(null);
  await ask(key);
  await told("provider_auth", "firing", "resolved");

  const posted = hook.posts.length;
  expect((await sluice.cli("alerts", "test")).code).toBe(0);
  expect(hook.alerts.slice(posted)).toMatchObject([{ kind: "test", state: "firing", details: {} }]);
  hook.answer = () => new Response("no", { status: 500 });
  const refused = await sluice.cli("alerts", "test");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("the webhook returned 500");
  for (const text of [sluice.output, refused.stderr, JSON.stringify(hook.alerts)]) {
    for (const canary of ["hook-canary", "signing-canary", "prompt-canary", "sk-upstream", key.key]) {
      expect(text).not.toContain(canary);
    }
  }
  provider.stop();
}, 180_000);
