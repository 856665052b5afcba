import { expect, test } from "bun:test";
import { SQL } from "bun";
import type { EntryView } from "../../src/admin/requests/schema.ts";
import { hello, paths, streamEvents } from "../gateway/wire-answers.ts";
import { sse } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { startProvider } from "../support/provider.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { FragileNodes } from "./fragile-nodes.ts";

const texts = {
  words: "word ".repeat(300),
  chinese: "我们在海边散步，天气很好，孩子们在玩耍。".repeat(20),
};
const models = { chat: "gpt-test", responses: "gpt-test", messages: "claude-test" } as const;
const asked = Object.entries(texts).flatMap(([name, text]) =>
  (["chat", "responses", "messages"] as const).map((dialect) => ({ dialect, name, text })),
);

/** All of a text, and neither its end nor a usage. */
function unfinished(dialect: BodyDialectName, text: string) {
  const events = streamEvents(dialect, { text: `${text} behold` });
  const last = events.findIndex((event) => event.includes("behold"));
  return { ...sse(""), steps: [{ write: events.slice(0, last + 1).join("") }, { stall: true as const }] };
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test("streams of a node that dies cost at most what a cancel at the same point does, and at least half of it", async () => {
    const provider = startProvider();
    await using nodes = await FragileNodes.start(2, provider);
    const [survivor, victim] = [nodes.at(0), nodes.at(1)];
    const key = await survivor.createKey({ credit: 1000 });
    const begin = async ({ dialect, text }: (typeof asked)[number]) => {
      provider.script(unfinished(dialect, text));
      const body = hello(dialect, models[dialect], { stream: true });
      const response = await victim.request(paths[dialect], { key, body });
      const reader = new StreamReader(response);
      await reader.until("behold");
      return { reader, id: response.headers.get("x-request-id") ?? "" };
    };
    const cancelled: string[] = [];
    for (const one of asked) {
      const { reader, id } = await begin(one);
      await reader.cancel();
      cancelled.push(id);
    }
    const charges = async () => {
      const found = new Map<string, EntryView>();
      for (const [id, [entry]] of await nodes.chargesByExchange(survivor)) if (entry) found.set(id, entry);
      return found;
    };
    await waitFor(async () => (await charges()).size === asked.length, "the cancelled ones' charges");
    const cancels = await charges();
    const interrupted: string[] = [];
    for (const one of asked) interrupted.push((await begin(one)).id);
    await using sql = new SQL({ url: nodes.databaseUrl, max: 1 });
    await waitFor(async () => {
      const holds: { id: string; noted: number }[] =
        await sql`SELECT id, charge_so_far::float8 AS noted FROM holds`;
      const notedOf = (id: string | undefined) => holds.find((hold) => hold.id === id)?.noted ?? 0;
      return cancelled.every((id, at) => 2 * notedOf(interrupted[at]) >= -(cancels.get(id)?.amount ?? 0));
    }, "the progress of all to be noted");
    await victim.kill9();
    await waitFor(async () => (await charges()).size === 2 * asked.length, "the charges");
    const made = await charges();
    asked.forEach(({ dialect, name }, index) => {
      const cancel = made.get(cancelled[index] ?? "");
      const interrupt = made.get(interrupted[index] ?? "");
      expect([cancel?.outcome, interrupt?.outcome]).toEqual(["cancelled", "interrupted"]);
      const amount = -(cancel?.amount ?? 0);
      expect(-(interrupt?.amount ?? 0), `${dialect}, ${name}`).toBeWithin(amount / 2, amount + 1);
    });
    provider.stop();
  }, 120_000);
