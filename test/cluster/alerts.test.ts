import { expect, test } from "bun:test";
import { SQL } from "bun";
import { HookServer } from "../support/hook.ts";
import { startProvider } from "../support/provider.ts";
import { waitFor } from "../support/wait.ts";
import { FragileNodes } from "./fragile-nodes.ts";
import { withPostgres } from "./nodes.ts";

withPostgres(() => {
  test("of two gateways one tells, of the database's outage too, and the other when the first is killed", async () => {
    const provider = startProvider();
    using hook = new HookServer();
    const tail = '[alerts]\nurl = "env:ALERT_WEBHOOK_URL"';
    await using nodes = await FragileNodes.start(2, provider, { tail, env: { ALERT_WEBHOOK_URL: hook.url } });
    const told = (kind: string, ...states: string[]) =>
      waitFor(() => hook.told(kind).join() === states.join(), `the hook to be told ${kind} ${states}`);

    await nodes.at(0).createKey({ expires: "3d" });
    await told("key_expiring", "firing");
    // An alert that the webhook has accepted is sent again if the database becomes unavailable before that is recorded.
    await using database = new SQL(nodes.databaseUrl, { max: 1 });
    await waitFor(async () => (await database`SELECT no FROM alert_posts`).length === 0, "that to be noted");
    const outage = (mode: "refuse" | "pass") => {
      for (const proxy of nodes.proxies) {
        proxy.mode = mode;
        if (mode === "refuse") proxy.cut();
      }
    };
    outage("refuse");
    await told("store_unavailable", "firing");
    outage("pass");
    await told("store_unavailable", "firing", "resolved");
    const sender = hook.alerts.find(({ kind }) => kind === "store_unavailable")?.subject.id;

    const [first, second] = sender === "node-0" ? [0, 1] : [1, 0];
    // While the database was unavailable no node could send a heartbeat, so both may have been reported missing.
    const lastOf = (node: number) =>
      hook.alerts.findLast(({ kind, subject }) => kind === "node_missing" && subject.label === `node-${node}`)
        ?.state;
    await nodes.at(first).kill9();
    await waitFor(
      () => lastOf(first) === "firing" && lastOf(second) !== "firing",
      "the killed node to be late",
    );
    await nodes.at(first).restart();
    await waitFor(() => lastOf(first) === "resolved", "the node to be there again");
    // On a busy machine a beat may come late: that passes.
    await waitFor(async () => {
      const listed = await nodes.at(second).cliJson<{ kind: string }[]>("status");
      return listed.map(({ kind }) => kind).join() === "key_expiring";
    }, "nothing but the key to need attention");
    expect(hook.told("key_expiring")).toEqual(["firing"]);
    provider.stop();
  }, 300_000);
});
