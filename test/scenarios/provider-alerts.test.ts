import { expect, test } from "bun:test";
import { openAiError, silence } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { HookServer } from "../support/hook.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const body = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };
const alerts = '[alerts]\nurl = "env:ALERT_WEBHOOK_URL"\n';

interface Listed {
  readonly kind: string;
  readonly severity: string;
  readonly last_error: string | null;
  readonly next: string;
}

test("what is known of a provider outlives a reload, and only an answer is an answer", async () => {
  using hook = new HookServer();
  const provider = startProvider();
  const config = (url: string, more = "") => configFor({ url, head: more + alerts });
  await using sluice = await Sluice.start({
    config: config(provider.url),
    env: { ALERT_WEBHOOK_URL: hook.url },
  });
  const key = await sluice.createKey();
  const call = async () => (await sluice.request("/v1/chat/completions", { key, body })).status;
  const status = () => sluice.cliJson<Listed[]>("status");
  const begins = (kind: string) =>
    waitFor(() => hook.alerts.some((each) => each.kind === kind && each.state === "firing"), kind);

  provider.script([openAiError(500, "the model is on fire")]);
  for (let calls = 0; calls < 3; calls += 1) expect(await call()).toBe(502);
  await begins("provider_failing");
  expect(await status()).toMatchObject([
    {
      kind: "provider_failing",
      severity: "critical",
      last_error: "the model is on fire",
      next: "sluice models check",
    },
  ]);

  const posts = hook.posts.length;
  await sluice.reload(config(provider.url, '[log]\nlevel = "debug"\n'));
  await sluice.told("configuration reloaded");
  expect(await status()).toMatchObject([{ kind: "provider_failing", last_error: "the model is on fire" }]);

  // Another kind of failure is an update: it has not answered in between.
  provider.script([openAiError(401, "no such key")]);
  expect(await call()).toBe(502);
  await begins("provider_auth");
  expect(hook.alerts.slice(posts)).toMatchObject([
    { kind: "provider_auth", details: { previous_kind: "provider_failing" } },
  ]);

  provider.script(null);
  expect(await call()).toBe(200);
  await waitFor(() => hook.alerts.at(-1)?.state === "resolved", "the end of the alert");
  expect(hook.alerts.at(-1)?.text).toBe("Provider openai responds again.");
  expect(hook.alerts.filter(({ state }) => state === "resolved")).toHaveLength(1);

  provider.script([openAiError(401, "no such key")]);
  expect(await call()).toBe(502);
  await waitFor(() => hook.alerts.at(-1)?.state === "firing", "the next alert");
  await sluice.reload(config(provider.url.replace("127.0.0.1", "localhost")));
  await waitFor(() => hook.alerts.at(-1)?.state === "resolved", "its end");
  expect(hook.alerts.at(-1)?.text).toContain("is unknown");
  provider.stop();
}, 60_000);

test("a provider that hangs is slow once its clients have given up, until it answers", async () => {
  using hook = new HookServer();
  const provider = startProvider();
  const config = configFor({ url: provider.url, head: alerts });
  await using sluice = await Sluice.start({ config, env: { ALERT_WEBHOOK_URL: hook.url } });
  const key = await sluice.createKey();
  provider.script([silence()]);
  const calls = Array.from({ length: 8 }, () =>
    sluice
      .request("/v1/chat/completions", { key, body, signal: AbortSignal.timeout(5_200) })
      .catch(() => null),
  );
  await Promise.all(calls);
  await waitFor(() => hook.alerts.length > 0, "the alert");
  expect(hook.alerts).toMatchObject([{ kind: "provider_slow", state: "firing" }]);
  expect(await sluice.cliJson<Listed[]>("status")).toMatchObject([
    { kind: "provider_slow", severity: "warning", next: "sluice models check" },
  ]);
  provider.script(null);
  const answers = Array.from({ length: 9 }, () => sluice.request("/v1/chat/completions", { key, body }));
  for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
  await waitFor(() => hook.alerts.length > 1, "its end");
  expect(hook.alerts[1]?.text).toBe("Provider openai responds in time again.");
  provider.stop();
}, 60_000);
