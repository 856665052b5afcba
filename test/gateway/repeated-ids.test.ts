import { expect, test } from "bun:test";
import { json } from "../support/answers.ts";
import { responseFrom, TurnWorld } from "./turn-world.ts";

test("a response keeps its place if its server gives what continues it the same id", async () => {
  const { world, create, lastText } = await TurnWorld.start();
  await using _ = world;
  const named = (id: string) => world.provider.script((request) => json({ ...responseFrom(request), id }));
  named("resp_same");
  const first = await create({ input: "One" });
  await create({ input: "Two", previous_response_id: first.id });
  named("resp_between");
  const between = await create({ input: "Three", previous_response_id: first.id });
  expect(lastText()).toContain("One");
  expect(lastText()).not.toContain("Two");
  named("resp_same");
  const last = await create({ input: "Four", previous_response_id: between.id });
  expect(last.id).toBe(first.id);
  await create({ input: "Five", previous_response_id: between.id });
  for (const text of ["One", "Three", "Five"]) expect(lastText()).toContain(text);
});
