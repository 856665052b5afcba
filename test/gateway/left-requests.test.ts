import { expect, test } from "bun:test";
import { silence } from "../support/answers.ts";
import { onBothStores } from "./on-both-stores.ts";
import { hello, paths } from "./wire-answers.ts";
import type { Caller, World } from "./world.ts";

/** What a client pays that disconnects, and what it keeps of its limits. */

const content = "word ".repeat(3_000);
const chat = { ...hello("chat", "gpt-test"), messages: [{ role: "user", content }] };

async function leaveEarly(world: World, caller: Caller, body: object): Promise<number> {
  const leaving = new AbortController();
  const arriving = world.provider.nextRequest();
  const asking = world.ask(caller, { path: paths.chat, body, signal: leaving.signal });
  const status = asking.then(
    (response) => response.status,
    () => 0,
  );
  const sent = await Promise.race([arriving.then(() => 0), status]);
  leaving.abort();
  await status;
  await world.settled();
  return sent;
}

onBothStores("", (world) => {
  test("a request that is left early keeps its input in the limit of tokens per minute, and its output comes back", async () => {
    const tpmLimits = [{ limit: 20_000, models: null }];
    const caller = await world().creditCaller(10, { tpmLimits });
    world().provider.script(silence());
    const body = { ...chat, max_tokens: 4_000 };
    // Up to 12,000 are reserved, of which each keeps 3,000.
    let left = 0;
    while (left < 10 && (await leaveEarly(world(), caller, body)) === 0) left += 1;
    expect(left).toBeWithin(3, 6);
    expect(await world().chargesOf(caller)).toEqual([]);
  });
});
