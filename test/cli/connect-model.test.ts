import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { newPlace, type Place, sluice, sluiceJson } from "./fixtures.ts";

const vendor = startProvider();
let gateway: Sluice;
let key: TestKey;
let budget: TestKey;

beforeAll(async () => {
  const openAi = (name: string, models: string) =>
    `[providers.${name}]\nkind = "openai"\nbase_url = "${vendor.url}/v1"\napi_key = "env:TEST_OPENAI_KEY"\nmodels = ${models}`;
  const gemini = (kind: string, output: number) =>
    `[[models]]\nid = "gemini-9-${kind}"\nprovider = "openai"\nmax_output_tokens = 64000\nprice = { input = 1.0, output = ${output} }`;
  const config = [
    '[providers.demo]\nkind = "demo"\n\n[[models]]\nid = "demo-one"\nprovider = "demo"\nfree = true',
    openAi("openai", '["gpt-6*"]'),
    `${openAi("own", '["our-gpt"]')}\nunpriced = "budget-only"`,
    gemini("pro", 100),
    gemini("flash", 0.4),
  ].join("\n\n");
  gateway = await startSluice({ config });
  key = await gateway.createKey();
  budget = await gateway.createKey({ mode: "token_budget" });
});
afterAll(async () => {
  await gateway.dispose();
  vendor.stop();
});

interface Written {
  readonly model: string | null;
  readonly uses: readonly string[];
  readonly checked: boolean | null;
}

function newHome(codex?: string): Place & { readonly file: string } {
  const { folder } = newPlace();
  const home = join(folder, "home");
  mkdirSync(join(home, ".codex"), { recursive: true });
  const file = join(home, ".codex", "config.toml");
  if (codex !== undefined) writeFileSync(file, codex);
  return { folder, file, env: { HOME: home, SLUICE_DATA: join(gateway.folder, "data") } };
}

const idsFor = async (who: TestKey) => {
  const response = await gateway.request("/v1/models", { key: who });
  const { data } = (await response.json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
};

test("a credit key's list of models has none without a price, and a token-budget key's has them", async () => {
  expect(await idsFor(key)).not.toContain("our-gpt");
  expect(await idsFor(key)).toContain("demo-one");
  expect(await idsFor(key)).toContain("gpt-6.1-sol");
  expect(await idsFor(budget)).toContain("our-gpt");
});

describe("models list", () => {
  const names = (models: readonly { readonly id: string }[]) => models.map(({ id }) => id);

  test("shows what the running gateway serves, from a folder without its file, and says which gateway that is", async () => {
    const said = await sluice(newHome(), "models", "list", "--json");
    expect(said.stderr).toContain(`the gateway at ${gateway.url} (pid `);
    const listed = names(JSON.parse(said.stdout));
    expect(listed).toContain("gpt-6.1-sol");
    expect(listed).toContain("our-gpt");
    expect(listed).not.toContain("openai/gpt-6.1-sol");
  });

  test("falls back to the file where no gateway runs, and hides what lists leave out, except with --all", async () => {
    const { folder, env } = newHome();
    const file = join(folder, "sluice.toml");
    const entry = (id: string, more: string) =>
      `[[models]]\nid = "${id}"\nprovider = "demo"\nfree = true\n${more}`;
    writeFileSync(
      file,
      `[providers.demo]\nkind = "demo"\n\n${entry("house", "")}\n${entry("house-2026-01-01", "listed = false\n")}`,
    );
    const place = { folder, env: { ...env, SLUICE_CONFIG: file, SLUICE_DATA: join(folder, "data") } };
    const said = await sluice(place, "models", "list", "--json");
    expect(said.stderr).toContain(`no gateway runs here; the models of ${file}`);
    expect(names(JSON.parse(said.stdout))).toEqual(["house"]);
    const all = await sluiceJson<{ id: string }[]>(place, "models", "list", "--all");
    expect(names(all)).toEqual(["house", "house-2026-01-01"]);
    const named = { folder, env: { ...env } };
    expect(names(await sluiceJson(named, "models", "list", "--config", file))).toEqual(["house"]);
  });
});

describe("the model in a client's settings", () => {
  test("is the one that suits the client, and not the demo, which comes first", async () => {
    const codex = await sluice(newHome(), "connect", "codex", "--key", key.key);
    expect(codex.stdout).toContain("-m gpt-6.1-sol");
    const claude = await sluice(newHome(), "connect", "claude-code", "--key", key.key);
    expect(claude.stdout).toContain("claude --model gemini-9-pro");
  });

  test("is the same for a new key, within the models of that key", async () => {
    const place = { folder: gateway.folder, env: newHome().env ?? {} };
    const create = ["keys", "create", "--mode", "credit", "--credit", "10", "--for", "codex"];
    expect((await sluice(place, ...create)).stdout).toContain("-m gpt-6.1-sol");
    expect((await sluice(place, ...create, "--models", "demo-one,gpt-6-luna")).stdout).toContain(
      "-m gpt-6-luna",
    );
  });
});

describe("a key with little credit", () => {
  const connectWith = async (credit: number, ...rest: string[]) => {
    const small = await gateway.createKey({ credit });
    return sluice(newHome(), "connect", ...rest, "--key", small.key);
  };

  test("gets a model whose requests fit it, the client's own family first", async () => {
    const rich = await connectWith(1000, "gemini-cli");
    expect([rich.stdout, rich.stderr]).toEqual([expect.stringContaining("gemini --model gemini-9-pro"), ""]);
    const poor = await connectWith(0.5, "gemini-cli");
    expect([poor.stdout, poor.stderr]).toEqual([
      expect.stringContaining("gemini --model gemini-9-flash"),
      "",
    ]);
    const create = ["keys", "create", "--mode", "credit", "--credit", "1000", "--cap", "0.5/day"];
    const capped = await gateway.cliJson<TestKey>(...create);
    const within = await sluice(newHome(), "connect", "gemini-cli", "--key", capped.key);
    expect(within.stdout).toContain("gemini --model gemini-9-flash");
  });

  test("is warned where no model fits, with both amounts", async () => {
    const { stderr } = await connectWith(0.001, "gemini-cli");
    expect(stderr).toMatch(
      /without an output limit reserves about \d+\.\d\d USD, and this key can spend 0\.00 USD now/,
    );
  });
});

test("connect claude-code says what the client of today requests, and what of it the key cannot use", async () => {
  const { stderr } = await sluice(newHome(), "connect", "claude-code", "--key", key.key);
  expect(stderr).toContain("claude-code requests claude-opus-5-5, claude-sonnet-5-5, claude-haiku-5-5");
  expect(stderr).toContain("this key cannot use claude-opus-5-5");
});

test("the settings of gemini-cli say what it needs without a terminal", async () => {
  const { stdout } = await sluice(newHome(), "connect", "gemini-cli", "--key", key.key);
  expect(stdout).toContain("add --skip-trust");
});

describe("connect --write", () => {
  const write = ["connect", "codex", "--write", "--key"];

  test("leaves the default of the client's releases of today if the key can use it, and says that it is used", async () => {
    const place = newHome();
    const written = await sluiceJson<Written>(place, ...write, key.key);
    expect(written).toMatchObject({ model: null, uses: ["gpt-6.1-sol"], checked: true });
    expect(readFileSync(place.file, "utf8")).not.toContain("gpt-6.1-sol");
  });

  test("writes a served model where the client's default is not served, and checks it with the key", async () => {
    const place = newHome();
    const small = await gateway.createKey({ models: ["demo-one", "gpt-6-luna"] });
    const written = await sluiceJson<Written>(place, ...write, small.key);
    expect(written).toMatchObject({ model: "gpt-6-luna", uses: ["gpt-6-luna"], checked: true });
    expect(readFileSync(place.file, "utf8")).toContain('model = "gpt-6-luna"');
  });

  test("leaves the user's own model if it is served, and says that it is used", async () => {
    const place = newHome('model = "openai/gpt-6-luna"\n');
    const said = await sluice(place, ...write, key.key);
    expect(said).toMatchObject({ code: 0, stderr: "" });
    expect(said.stdout).toContain(`codex now uses ${gateway.url} with openai/gpt-6-luna`);
    expect(readFileSync(place.file, "utf8")).toContain('model = "openai/gpt-6-luna"');
  });

  test("names a model in the settings that is not served, replaces it, and --undo restores it", async () => {
    const place = newHome('model = "o3"\n');
    const said = await sluice(place, ...write, key.key);
    expect(said.stderr).toContain(`the settings have the model "o3", which ${gateway.url} does not serve`);
    expect(said.stderr).toContain('replaced by "gpt-6.1-sol"');
    expect(readFileSync(place.file, "utf8")).toContain('model = "gpt-6.1-sol"');
    await sluice(place, "connect", "codex", "--undo");
    expect(readFileSync(place.file, "utf8")).toBe('model = "o3"\n');
  });

  test("asks on a terminal, and says what does not work if the model stays", async () => {
    const place = newHome('model = "o3"\n');
    const said = await sluice({ ...place, answer: "n" }, ...write, key.key);
    expect(said.stderr).toContain('Replace it with "gpt-6.1-sol"?');
    expect(said.stderr).toContain('does not serve "o3" for this key; pass --model MODEL');
    expect(readFileSync(place.file, "utf8")).toContain('model = "o3"');
    const replaced = newHome('model = "o3"\n');
    await sluice({ ...replaced, answer: "" }, ...write, key.key);
    expect(readFileSync(replaced.file, "utf8")).toContain('model = "gpt-6.1-sol"');
  });

  test("reports a --model that the key cannot use", async () => {
    const said = await sluiceJson<Written>(newHome(), ...write, key.key, "--model", "gpt-99");
    expect(said).toMatchObject({ model: "gpt-99", checked: false });
  });
});
