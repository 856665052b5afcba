import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { json } from "../../support/answers.ts";
import { type Caller, World } from "../world.ts";

const tail = `
[[models]]
id = "by-quality"
provider = "openai"
upstream_model = "image-upstream"
serves = ["images"]
[models.price.images]
"*" = 0.02
"low/1024x1024" = 0.01
"high/1024x1024" = 0.167
"high/1536x1024" = 0.25
"hd/1024x1024" = 0.08
`;

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller(100);
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

test.each<[string | undefined, string | undefined, number]>([
  // Without a size: the highest row of the quality.
  ["high", undefined, 0.25],
  ["high", "auto", 0.25],
  ["HIGH ", "1024x1536", 0.25],
  ["hd", undefined, 0.08],
  ["hd", "1792x1024", 0.08],
  // A lower row does not make `*` cheaper.
  ["low", undefined, 0.02],
  ["low", "1024x1024", 0.01],
  ["medium", "1024x1024", 0.02],
  // The provider chooses the quality.
  [undefined, undefined, 0.25],
  ["auto", "1024x1024", 0.25],
  [undefined, "512x512", 0.25],
])("quality %j and size %j cost the highest row that fits", async (quality, size, cost) => {
  world.provider.script(json({ created: 1, data: [{ url: "a" }, { url: "b" }] }));
  const path = "/v1/images/generations";
  const body = { model: "by-quality", prompt: "x", n: 2, ...(quality && { quality }), ...(size && { size }) };
  expect(Number((await world.ask(caller, { path, body })).headers.get("x-sluice-cost"))).toBeCloseTo(
    2 * cost,
    9,
  );
  expect(await world.heldFor({ path, body })).toBeCloseTo(2 * cost, 9);
});
