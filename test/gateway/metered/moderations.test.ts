import { expect, test } from "bun:test";
import { json } from "../../support/answers.ts";
import { World } from "../world.ts";

const answer = json({ id: "modr-1", model: "omni-moderation", results: [{ flagged: true }] });

test("a request that names no model goes to the first one that serves moderations", async () => {
  const tail = `
[[models]]
id = "guard"
provider = "openai"
upstream_model = "omni-moderation-latest"
serves = ["moderations"]

[[models]]
id = "other-guard"
provider = "local"
serves = ["moderations"]
`;
  await using world = await World.start({ tail });
  world.provider.script(answer);
  const caller = await world.creditCaller(0);
  const response = await world.ask(caller, { path: "/v1/moderations", body: { input: "bad words" } });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    id: "modr-1",
    model: "omni-moderation",
    results: [{ flagged: true }],
  });
  expect(world.provider.requests.map(({ path, body }) => [path, body])).toEqual([
    ["/openai/v1/moderations", { model: "omni-moderation-latest", input: "bad words" }],
  ]);
  expect(world.observed.at(-1)).toMatchObject({ model: "guard", charged: 0 });
});

test("without any such model it is refused in words that say what to do", async () => {
  await using world = await World.start();
  const caller = await world.creditCaller(1);
  const response = await world.ask(caller, { path: "/v1/moderations", body: { input: "bad words" } });
  expect(response.status).toBe(404);
  const { error } = (await response.json()) as { error: { code: string; param: string; message: string } };
  expect(error).toMatchObject({ code: "model_not_found", param: "model" });
  expect(error.message).toContain('serves = ["moderations"]');
});
