import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FeedEntryView, PushView } from "../../src/admin/feed/schema.ts";
import { configFor } from "../support/config.ts";
import { HookServer } from "../support/hook.ts";
import { newFolder } from "../support/new-folder.ts";
import { startProvider } from "../support/provider.ts";
import { startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const adminToken = "slua_of-the-operator";
const alerts = '[alerts]\nurl = "env:ALERT_WEBHOOK_URL"\n';

test("a receiver that rejects a post is an alert, until it is resumed or another one is configured", async () => {
  const provider = startProvider();
  using hook = new HookServer();
  using first = new HookServer();
  using second = new HookServer();
  const address = join(newFolder(), "feed-url");
  writeFileSync(address, first.url);
  const pushed = `[feed]\nurl = "file:${address}"\nsecret = "env:SIGNING"\n`;
  const configOf = (tail: string) => configFor({ url: provider.url, tail });
  first.answer = () => new Response("no", { status: 401 });
  await using sluice = await startSluice({
    config: configOf(alerts + pushed),
    env: {
      ALERT_WEBHOOK_URL: hook.url,
      SIGNING: "feed-signing-canary",
      SLUICE_ADMIN_TOKEN: adminToken,
    },
  });
  const told = (...states: string[]) =>
    waitFor(() => hook.told("feed_stopped").join() === states.join(), `the hook to be told ${states}`);
  const status = () => sluice.cliJson<PushView>("ledger", "feed", "status");
  const idsAt = (server: HookServer) =>
    server.posts.flatMap(({ body }) =>
      (JSON.parse(body) as { data: FeedEntryView[] }).data.map(({ id }) => id),
    );

  await sluice.createKey({ label: "one" });
  await told("firing");
  expect(await status()).toMatchObject({
    state: "stopped",
    problem: "returned 401",
    waiting: 1,
    through: null,
  });
  const listed =
    await sluice.cliJson<{ kind: string; severity: string; next: string; text: string }[]>("status");
  expect(listed[0]).toMatchObject({
    kind: "feed_stopped",
    severity: "critical",
    next: "sluice ledger feed resume",
    text: "The ledger's feed has stopped after entry 0: its receiver returned 401. Correct the receiver, then run `sluice ledger feed resume`.",
  });
  const scrape = { headers: { authorization: `Bearer ${adminToken}` } };
  const metrics = await (await sluice.request("/metrics", scrape)).text();
  expect(metrics).toContain('sluice_feed_posts_total{result="rejected"} 1\n');
  expect(metrics).toContain("sluice_feed_lag_entries 1\n");

  first.answer = () => new Response("ok");
  const resumed = await sluice.cli("ledger", "feed", "resume");
  expect([resumed.code, resumed.stdout]).toEqual([
    0,
    expect.stringContaining("The feed is being sent again."),
  ]);
  await told("firing", "resolved");
  expect(idsAt(first)).toEqual([1, 1]);
  expect(await status()).toMatchObject({ state: "sending", waiting: 0, problem: null });
  const [change] = await sluice.cliJson<{ action: string; detail: string }[]>(
    "audit-log",
    "--search",
    "feed",
  );
  expect(change).toMatchObject({ action: "feed.resume", detail: "the receiver returned 401" });

  // An address in a file is rotated without a restart.
  first.answer = () => new Response("no", { status: 410 });
  await sluice.createKey({ label: "two" });
  await told("firing", "resolved", "firing");
  writeFileSync(address, second.url);
  await sluice.reload(configOf(alerts + pushed));
  await waitFor(() => second.posts.length === 1, "the new receiver to get the post");
  expect([idsAt(second), second.posts[0]?.headers.get("idempotency-key")]).toEqual([
    [2],
    expect.stringMatching(/^2\.[\w-]{16}$/),
  ]);
  await told("firing", "resolved", "firing", "resolved");

  await sluice.reload(configOf(alerts));
  await sluice.createKey({ label: "three" });
  await sluice.reload(configOf(alerts + pushed));
  await waitFor(() => second.posts.length === 2, "the feed to continue behind the last entry");
  expect(idsAt(second)).toEqual([2, 3]);
  expect(sluice.output).not.toContain("hook-canary");
  expect(sluice.output).not.toContain("feed-signing-canary");
  provider.stop();
}, 120_000);
