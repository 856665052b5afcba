import { expect, test } from "bun:test";
import { newSecret } from "../../src/keys/secret.ts";
import { World } from "./world.ts";

test("an address that has guessed too often causes no look at the store, and right keys from there go on", async () => {
  await using world = await World.start({ head: "[server]\nanonymous_rpm = 3\n" });
  const caller = await world.creditCaller();
  const { catchUp } = world.gateway;
  let looks = 0;
  Object.assign(world.gateway, {
    catchUp: () => {
      looks += 1;
      return catchUp();
    },
  });
  const guess = async (secret: string) => {
    const headers = { authorization: `Bearer ${secret}` };
    return (await fetch(`${world.running.url}/v1/usage`, { headers })).status;
  };
  const statuses: number[] = [];
  for (let guesses = 0; guesses < 10; guesses += 1) statuses.push(await guess(newSecret()));
  expect(statuses).toEqual([401, 401, 401, 429, 429, 429, 429, 429, 429, 429]);
  expect(looks).toBe(3);
  expect(await guess(caller.secret)).toBe(200);
});
