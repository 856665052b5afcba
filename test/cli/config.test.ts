import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { newPlace, sluice, sluiceJson } from "./fixtures.ts";

describe("config init", () => {
  test("writes a file that is sound, and never overwrites one", async () => {
    const place = newPlace();
    expect((await sluice(place, "config", "init", "--yes")).code).toBe(0);
    const file = join(place.folder, "sluice.toml");
    expect(readFileSync(file, "utf8")).toContain("[providers.demo]");
    const check = await sluice(place, "config", "check");
    expect(check).toMatchObject({ code: 0, stderr: "" });
    expect(check.stdout).toContain(`${file} is valid: 1 provider, 3 models`);
    const again = await sluice(place, "config", "init");
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("already exists; move it away");
  });

  test("prints the file instead when asked to", async () => {
    const place = newPlace();
    const { stdout } = await sluice(place, "config", "init", "-");
    expect(stdout).toStartWith("# Sluice's configuration.");
    expect(existsSync(join(place.folder, "sluice.toml"))).toBe(false);
  });

  test("says why a place cannot be written to", async () => {
    const { code, stderr } = await sluice(newPlace(), "config", "init", "nowhere/sluice.toml", "--yes");
    expect(code).toBe(1);
    expect(stderr).toContain("cannot be written: the folder does not exist");
  });
});

describe("config check", () => {
  const demo = '[providers.demo]\nkind = "demo"\n[[models]]\nid = "gpt-5.6"\nprovider = "demo"\n';
  const broken = '[server]\nprot = 1\n[[models]]\nid = "a"\nprovider = "nobody"\n';

  test("tells every problem with its path, and status 1", async () => {
    const place = newPlace();
    writeFileSync(join(place.folder, "sluice.toml"), broken);
    const { code, stdout, stderr } = await sluice(place, "config", "check");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      [
        `✗ 2 problems in ${join(place.folder, "sluice.toml")}`,
        '  server.prot (line 2): unknown name, did you mean "port"?',
        '  model "a", provider (line 5): [providers.nobody] does not exist; add it, or use another\n',
      ].join("\n"),
    );
  });

  test("tells the same to programs", async () => {
    const place = newPlace();
    writeFileSync(join(place.folder, "other.toml"), broken);
    const { code, stdout } = await sluice(place, "config", "check", "other.toml", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      problems: [
        { path: "server.prot", line: 2 },
        { path: "models[0].provider", line: 5, where: 'model "a", provider (line 5)' },
      ],
    });
  });

  test("finds nothing sound where there is no file, or nothing in it", async () => {
    const place = newPlace();
    const nowhere = await sluice(place, "config", "check");
    expect({ code: nowhere.code, stdout: nowhere.stdout }).toEqual({ code: 1, stdout: "" });
    expect(nowhere.stderr).toContain("there is no sluice.toml here; `sluice config init` writes one");
    const { code, stdout } = await sluice(place, "config", "check", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false });
    for (const text of ["", "# nothing yet\n", "[server]\nport = 1\n"]) {
      writeFileSync(join(place.folder, "sluice.toml"), text);
      const empty = await sluice(place, "config", "check");
      expect(empty.code).toBe(1);
      expect(empty.stderr).toContain(
        "models: no models are configured, so nothing is served; add [[models]]",
      );
    }
  });

  test("fails without a provider's key, unless missing secrets are allowed, and repeats what is skipped", async () => {
    const place = newPlace();
    writeFileSync(
      join(place.folder, "sluice.toml"),
      '[providers.openai]\nkind = "openai"\napi_key = "env:NO_KEY"\n[[models]]\nid = "m"\nprovider = "openai"\n',
    );
    const refused = await sluice(place, "config", "check");
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: "" });
    expect(refused.stderr).toContain('! provider "openai" is skipped: NO_KEY is not set');
    expect(refused.stderr).toContain("✗ NO_KEY is not set; set it, or pass --allow-missing-secrets");
    const asJson = await sluice(place, "config", "check", "--json");
    expect(asJson.code).toBe(1);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ ok: false, missing_secrets: ["NO_KEY is not set"] });
    const { code, stdout } = await sluice(place, "config", "check", "--allow-missing-secrets");
    expect(code).toBe(0);
    expect(stdout).toContain('! provider "openai" is skipped: NO_KEY is not set');
  });

  test("passes without the secrets of the store and of stored responses, if that is allowed", async () => {
    const place = newPlace();
    const secrets = 'store.url = "env:NO_DATABASE"\nresponses.encryption_key = "env:NO_RESPONSES_KEY"\n';
    writeFileSync(join(place.folder, "sluice.toml"), `${secrets}${demo}`);
    const rejected = await sluice(place, "config", "check");
    expect([rejected.code, rejected.stderr]).toEqual([1, expect.stringContaining("NO_DATABASE is not set")]);
    const { code, stdout } = await sluice(place, "config", "check", "--allow-missing-secrets");
    expect([code, stdout]).toEqual([0, expect.stringContaining("is valid: 1 provider")]);
  });

  test("rejects a space in a model's id, and names the price that another gateway's word means", async () => {
    const place = newPlace();
    const price = "price = { input = 1.0, output = 2.0, cache_read = 0.1 }\n";
    writeFileSync(join(place.folder, "sluice.toml"), `${demo.replace("gpt-5.6", "gpt 5.6")}${price}`);
    const { code, stderr } = await sluice(place, "config", "check");
    expect(code).toBe(1);
    expect(stderr).toContain("id (line 4): must not contain spaces");
    expect(stderr).toContain('unknown name, did you mean "cached_input"?');
  });

  test("notes where lines of batches cost more than at the provider, without a warning", async () => {
    const place = newPlace();
    const tiers = (names: string) =>
      `price = { input = 1.0, output = 2.0, tiers = { ${names} = { input = 0.5, output = 1.0 } } }\n`;
    const model = (id: string, provider: string, rest: string) =>
      `[[models]]\nid = "${id}"\nprovider = "${provider}"\n${rest}`;
    const provider = (kind: string) => `[providers.${kind}]\nkind = "${kind}"\napi_key = "env:KEY_HERE"\n`;
    const models = [
      model("claude", "anthropic", "price = { input = 1.0, output = 2.0 }\n"),
      model("claude-native", "anthropic", `batch = "native"\n${tiers("batch")}`),
      model("gpt", "openai", tiers("flex")),
      model("gpt-flex", "openai", `batch_tier = "flex"\n${tiers("flex")}`),
      model("gpt-off", "openai", `batch = "off"\n${tiers("flex")}`),
      model("gift", "openai", tiers("batch")),
    ].join("");
    const file = join(place.folder, "sluice.toml");
    writeFileSync(file, provider("anthropic") + provider("openai") + models);
    const checked = await sluice({ ...place, env: { ...place.env, KEY_HERE: "sk-x" } }, "config", "check");
    expect(checked.stdout.split("\n").filter((line) => line.startsWith("·"))).toEqual([
      '· gpt: lines of batches cost the full price; set batch_tier = "flex" on the model for its flex price',
      '· claude: lines of batches cost the full price; set batch = "native" on the provider, or with price.tiers.batch on the model, for the provider\'s batch price',
      "· gift: lines of batches are charged by price.tiers.batch, and the provider bills its usual price",
    ]);
  });

  test("warns of more output than the context window holds", async () => {
    const place = newPlace();
    const limits = "context_window = 1000\nmax_output_tokens = 1001\n";
    writeFileSync(join(place.folder, "sluice.toml"), `${demo}${limits}`);
    const { warnings } = await sluiceJson<{ warnings: string[] }>(place, "config", "check");
    expect(warnings).toContain(
      'model "gpt-5.6", max_output_tokens (line 7) is 1001, more than its context_window of 1000; lower it',
    );
  });

  test("warns of an account for members' keys that does not exist, once there is data", async () => {
    const place = newPlace();
    const admin = '[admin]\nmember_keys = { account = "team", cap = "5/day" }\n';
    writeFileSync(join(place.folder, "sluice.toml"), `${admin}${demo}`);
    const warnings = async () =>
      (await sluiceJson<{ warnings: string[] }>(place, "config", "check")).warnings.filter((warning) =>
        warning.includes("member_keys.account"),
      );
    expect(await warnings()).toEqual([]);
    await sluice(place, "accounts", "create", "--mode", "credit", "--label", "other");
    expect(await warnings()).toEqual([expect.stringContaining('"team"')]);
    await sluice(place, "accounts", "create", "--mode", "credit", "--label", "team");
    expect(await warnings()).toEqual([]);
  });

  test("a bad --store or SLUICE_STORE is not blamed on the file", async () => {
    const place = newPlace({ env: {} });
    writeFileSync(join(place.folder, "sluice.toml"), demo);
    const option = await sluice(place, "keys", "list", "--store", "mysql://x");
    expect(option.code).toBe(1);
    expect(option.stderr).toContain("in the command line");
    expect(option.stderr).not.toContain("sluice.toml");
    const variable = await sluice({ ...place, env: { SLUICE_STORE: "mysql://x" } }, "keys", "list");
    expect(variable.stderr).toContain("in the environment");
  });

  /** Far off, and in no other unit. */
  const doubtful = `${demo}price = { input = 0.05, output = 0.3 }\n`;
  const doubt =
    'model "gpt-5.6", price.input (line 6) is 0.05 USD per million tokens, and the list price is 4';

  test("holds prices against the list prices in the executable", async () => {
    const place = newPlace();
    writeFileSync(join(place.folder, "sluice.toml"), doubtful);
    const { code, stdout } = await sluice(place, "config", "check");
    expect(code).toBe(0);
    expect(stdout).toContain(`! ${doubt}\n`);
    const { warnings } = await sluiceJson<{ warnings: string[] }>(place, "config", "check");
    expect(warnings).toContain(doubt);
  });

  test("fails at a warning if it is to be strict, and at none otherwise", async () => {
    const place = newPlace();
    writeFileSync(join(place.folder, "doubtful.toml"), doubtful);
    writeFileSync(join(place.folder, "sound.toml"), `${demo}price = { input = 5.0, output = 30.0 }\n`);
    const strict = await sluice(place, "config", "check", "--strict", "doubtful.toml");
    expect({ code: strict.code, stdout: strict.stdout }).toEqual({ code: 1, stdout: "" });
    expect(strict.stderr).toContain(`! ${doubt}\n`);
    expect(strict.stderr).toContain("✗ 2 warnings in ");
    const told = await sluice(place, "config", "check", "--strict", "doubtful.toml", "--json");
    expect(told.code).toBe(1);
    expect(JSON.parse(told.stdout)).toMatchObject({ ok: false, warnings: [doubt, expect.any(String)] });
    expect((await sluice(place, "config", "check", "--strict", "sound.toml")).code).toBe(0);
  });

  test("tells warnings beside problems, also of the file as a whole", async () => {
    const place = newPlace();
    writeFileSync(join(place.folder, "sluice.toml"), `[server]\nprot = 1\n${doubtful}`);
    const { code, stderr } = await sluice(place, "config", "check");
    expect(code).toBe(1);
    expect(stderr).toContain("server.prot (line 2): unknown name");
    expect(stderr).toContain("price.input (line 8) is 0.05 USD");
    writeFileSync(join(place.folder, "sluice.toml"), "[server]\nprot = 1\n");
    const empty = (await sluice(place, "config", "check")).stderr;
    expect(empty).toContain("server.prot (line 2): unknown name");
    expect(empty).toContain("models: no models are configured");
  });
});

test("config schema describes every name, with its default", async () => {
  const { stdout } = await sluice(newPlace(), "config", "schema");
  const schema = JSON.parse(stdout);
  expect(Object.keys(schema.properties)).toEqual([
    "server",
    "store",
    "log",
    "money",
    "retention",
    "routes",
    "responses",
    "batches",
    "websocket",
    "content",
    "admin",
    "tracing",
    "alerts",
    "feed",
    "providers",
    "models",
  ]);
  expect(schema.properties.server.properties.port).toMatchObject({ default: 8787, maximum: 65_535 });
  expect(undescribed(schema, "")).toEqual([]);
});

interface Described {
  readonly description?: string;
  readonly properties?: Record<string, Described>;
  readonly patternProperties?: Record<string, Described>;
  readonly items?: Described;
}

/** The names that a schema gives without their meaning. Tables explain themselves by the names in them. */
function undescribed(schema: Described, path: string): string[] {
  if (schema.description !== undefined) return [];
  const below = [
    ...Object.entries({ ...schema.properties, ...schema.patternProperties }),
    ...(schema.items === undefined ? [] : [["[]", schema.items] as const]),
  ];
  if (below.length === 0) return [path];
  return below.flatMap(([name, member]) => undescribed(member, `${path}.${name}`));
}

test("models list shows prices as the file has them", async () => {
  const { stdout, stderr } = await sluice(newPlace(), "models", "list");
  expect(stderr).toStartWith(
    "! no sluice.toml here, so this is the built-in configuration; pass --config FILE",
  );
  const lines = stdout.split("\n").map((line) => line.split(/\s{2,}/));
  const figures = ["128,000", "8,192", "0.15", "0.60"];
  expect(lines[1]).toEqual([
    "demo-small",
    "demo",
    ...figures,
    "tools vision embeddings moderations rerank",
    "web_search 10",
  ]);
  const models = await sluiceJson<{ id: string; price: { cached_input: number } }[]>(
    newPlace(),
    "models",
    "list",
  );
  expect(models[0]).toMatchObject({
    id: "demo-small",
    price: { input: 0.15, cached_input: 0.075, web_search: 10 },
  });
});

test("models list shows no price of tokens where something else is charged", async () => {
  const place = newPlace();
  writeFileSync(
    join(place.folder, "sluice.toml"),
    `[providers.local]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:1/v1"
     [[models]]\nid = "whisper"\nprovider = "local"\nserves = ["transcriptions"]\nprice = { audio_minutes = 0.006 }`,
  );
  const [, row = ""] = (await sluice(place, "models", "list")).stdout.split("\n");
  const none = ["–", "–", "–", "–"];
  expect(row.split(/\s{2,}/)).toEqual(["whisper", "local", ...none, "transcriptions", "audio_minutes 0.006"]);
});

describe("models check", () => {
  const withProvider = (url: string, serves = "generation") => {
    const place = newPlace();
    writeFileSync(
      join(place.folder, "sluice.toml"),
      `[providers.local]\nkind = "openai-compatible"\nbase_url = "${url}"
       [[models]]\nid = "m"\nprovider = "local"\nfree = true\nserves = ["${serves}"]`,
    );
    return place;
  };

  test("is content when every provider answers", async () => {
    const { code, stdout } = await sluice(newPlace(), "models", "check");
    expect(code).toBe(0);
    expect(stdout).toMatch(/✓ +demo +demo-small +chat +\S+ m?s +OK/);
  });

  test("gives status 1 and the reason when one does not", async () => {
    const place = withProvider("http://127.0.0.1:1/v1");
    const { code, stdout, stderr } = await sluice(place, "models", "check", "--json");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject([{ provider: "local", ok: false, status: null }]);
  });

  test("is content with a provider that only embeds, and does not say that it answers", async () => {
    const place = withProvider("http://127.0.0.1:1/v1", "embeddings");
    const { code, stdout } = await sluice(place, "models", "check");
    expect(code).toBe(0);
    expect(stdout).toMatch(/– {2}local .*no LLM uses this provider/);
    expect((await sluice(place, "models", "check", "m")).code).toBe(1);
  });

  test("of one model asks its deployments, and knows when there is no such model", async () => {
    const place = newPlace();
    const { code, stdout } = await sluice(place, "models", "check", "demo-large");
    expect(code).toBe(0);
    expect(stdout).toMatch(/✓ +demo +demo-large +chat +\S+ m?s +OK/);
    const { code: refused, stderr } = await sluice(place, "models", "check", "demo-larg");
    expect(refused).toBe(1);
    expect(stderr).toContain('model "demo-larg" does not exist, did you mean "demo-large"?');
  });
});

test("a broken configuration stops only the commands that need it", async () => {
  const place = newPlace();
  writeFileSync(join(place.folder, "sluice.toml"), "[server]\ndata = 'elsewhere'\nprot = 1\n");
  expect((await sluice(place, "models", "list")).code).toBe(1);
  expect((await sluice(place, "keys", "create", "--mode", "credit")).code).toBe(0);
  expect(existsSync(join(place.folder, "elsewhere"))).toBe(true);
});

test("version names itself, its runtime and the schemas it knows", async () => {
  expect((await sluice(newPlace(), "version")).stdout).toMatch(/^sluice \d+\.\d+\.\d+ \(bun /);
  const migrations = (store: string) =>
    readdirSync(new URL(`../../src/store/${store}/migrations`, import.meta.url)).length;
  expect(await sluiceJson<object>(newPlace(), "version")).toEqual({
    version,
    commit: null,
    bun: Bun.version,
    schema: { sqlite: migrations("sqlite"), postgres: migrations("postgres") },
    platform: process.platform,
    arch: process.arch,
  });
});
