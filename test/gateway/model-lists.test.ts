import { afterAll, afterEach, beforeAll, expect, spyOn, test } from "bun:test";
import { Catalog } from "../../src/catalog/catalog.ts";
import { type Caller, World } from "./world.ts";

const unpriced = `
[[models]]
id = "unpriced"
provider = "openai"
upstream_model = "unpriced-up"

[[models]]
id = "hidden"
provider = "openai"
upstream_model = "hidden-up"
public = false
free = true
`;

const paths = {
  usual: "/v1/models",
  codex: "/v1/models?client_version=0.169.0",
  google: "/v1beta/models?pageSize=1000",
} as const;

interface Lists {
  readonly data?: readonly { readonly id: string }[];
  readonly models?: readonly { readonly slug?: string; readonly name?: string }[];
  readonly nextPageToken?: string;
}

const googleId = (name = "") => name.replace("models/", "");

let world: World;
const listing = spyOn(Catalog.prototype, "list");
beforeAll(async () => {
  world = await World.start({ tail: unpriced });
});
afterEach(() => listing.mockClear());
afterAll(async () => {
  listing.mockRestore();
  await world[Symbol.asyncDispose]();
});

function request(path: string, caller: Caller | null = null): Promise<Response> {
  const origin = caller === null || caller.key.mode === "credit" ? "" : "/token";
  const headers = caller === null ? {} : { authorization: `Bearer ${caller.secret}` };
  return fetch(`${world.running.url}${origin}${path}`, { headers });
}

async function idsFor(caller: Caller | null, path: string = paths.usual): Promise<readonly string[]> {
  const response = await request(path, caller);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  const { data, models } = (await response.json()) as Lists;
  return data?.map(({ id }) => id) ?? models?.map(({ slug, name }) => slug ?? googleId(name)) ?? [];
}

const priced = ["gpt-test", "claude-test", "local-test"];

test("one list is computed for all callers with the same permissions, in every format", async () => {
  const callers = await Promise.all([world.creditCaller(), world.creditCaller(), world.creditCaller()]);
  await world.reload((config) => config);
  listing.mockClear();
  for (const caller of [null, ...callers]) {
    for (const path of Object.values(paths)) {
      const responses = await Promise.all(Array.from({ length: 8 }, () => request(path, caller)));
      const bodies = await Promise.all(responses.map((response) => response.text()));
      expect(new Set(bodies).size).toBe(1);
    }
  }
  // The public one, and the keys'.
  expect(listing).toHaveBeenCalledTimes(2);
});

test("each set of permissions has its own list", async () => {
  const scoped = await world.creditCaller(10, { scope: "openai" });
  const entitled = await world.creditCaller(10, { models: ["claude-test", "hidden"] });
  const tokens = await world.tokenCaller(1_000);
  for (const path of Object.values(paths)) {
    for (let twice = 0; twice < 2; twice += 1) {
      expect(await idsFor(null, path)).toEqual([...priced, "unpriced"]);
      expect(await idsFor(await world.creditCaller(), path)).toEqual([...priced, "hidden"]);
      expect(await idsFor(scoped, path)).toEqual(["gpt-test", "hidden"]);
      expect(await idsFor(entitled, path)).toEqual(["claude-test", "hidden"]);
      expect(await idsFor(tokens, path)).toEqual([...priced, "unpriced", "hidden"]);
    }
  }
});

test("a key whose permissions change gets the other list at once", async () => {
  const caller = await world.creditCaller();
  expect(await idsFor(caller)).toEqual([...priced, "hidden"]);
  await world.running.store.updateKey(caller.key.id, { models: ["gpt-test"] });
  await world.gateway.catchUp();
  expect(await idsFor(caller)).toEqual(["gpt-test"]);
});

test("a reload makes new lists, and Codex sees another ETag", async () => {
  const etag = async () => (await request(paths.codex)).headers.get("etag");
  const before = await etag();
  expect(await etag()).toBe(before);
  await world.reload((config) => config.replaceAll('"gpt-test"', '"gpt-renamed"'));
  expect(await idsFor(null)).toContain("gpt-renamed");
  expect(await etag()).not.toBe(before);
});

test("the pages of Google's list together are all of it", async () => {
  const pages: string[] = [];
  for (let token: string | undefined = "0"; token !== undefined; ) {
    const page = (await (await request(`/v1beta/models?pageSize=3&pageToken=${token}`)).json()) as Lists;
    expect(Object.keys(page)).toEqual(
      page.nextPageToken === undefined ? ["models"] : ["models", "nextPageToken"],
    );
    pages.push(...(page.models ?? []).map(({ name }) => googleId(name)));
    token = page.nextPageToken;
  }
  expect(pages).toEqual([...(await idsFor(null))]);
});

test("lists of very many permissions push out the oldest, and stay right", async () => {
  const names = Array.from({ length: 8 }, (_, index) => `m${index}`);
  await world.reload((config) => config + manyModels(4_000) + names.map((id) => oneModel(id)).join(""));
  const callers = await Promise.all(
    names.map((id) =>
      world.creditCaller(10, { models: [id, ...Array.from({ length: 4_000 }, (_, no) => `many-${no}`)] }),
    ),
  );
  for (const caller of callers) expect(await idsFor(caller)).toHaveLength(4_001);
  listing.mockClear();
  expect(await idsFor(callers.at(-1) ?? null)).toContain("m7");
  expect(listing).not.toHaveBeenCalled();
  expect(await idsFor(callers[0] ?? null)).toContain("m0");
  expect(listing).toHaveBeenCalledTimes(1);
});

function oneModel(id: string): string {
  return `\n[[models]]\nid = "${id}"\nprovider = "openai"\nupstream_model = "${id}"\nfree = true\n`;
}

function manyModels(count: number): string {
  return Array.from({ length: count }, (_, no) => oneModel(`many-${no}`)).join("");
}
