import { expect, test } from "bun:test";
import { World } from "./world.ts";

test("an id that the caller gave its request is observed if it is sane", async () => {
  await using world = await World.start();
  const caller = await world.creditCaller();
  const ask = async (headers: Record<string, string>) => {
    const body = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };
    await (await world.ask(caller, { path: "/v1/chat/completions", body, headers })).text();
    return world.observed.at(-1)?.callerRequestId;
  };
  expect(await ask({ "x-request-id": "mine-1.2:3_x" })).toBe("mine-1.2:3_x");
  expect(await ask({ "x-request-id": "a".repeat(128) })).toBe("a".repeat(128));
  expect(await ask({ "x-request-id": "a".repeat(129) })).toBeNull();
  expect(await ask({ "x-request-id": "not sane" })).toBeNull();
  expect(await ask({})).toBeNull();
});
