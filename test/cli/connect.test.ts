import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { clientSnippets } from "../../src/base/models/client-snippets.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { newPlace, type Place, sluice, sluiceJson } from "./fixtures.ts";

let gateway: Sluice;
let key: TestKey;
let budgetKey: TestKey;

beforeAll(async () => {
  gateway = await startSluice();
  key = await gateway.createKey();
  budgetKey = await gateway.createKey({ mode: "token_budget" });
});
afterAll(() => gateway.dispose());

/** A home without anything in it. */
function newHome(): Place & { readonly home: string } {
  const { folder } = newPlace();
  const home = join(folder, "home");
  mkdirSync(home);
  return { folder, home, env: { HOME: home, SLUICE_DATA: join(gateway.folder, "data") } };
}

type Client = "claude-code" | "codex";

const files: Readonly<Record<Client, (home: string) => string>> = {
  "claude-code": (home) => join(home, ".claude", "settings.json"),
  codex: (home) => join(home, ".codex", "config.toml"),
};
const clients = ["claude-code", "codex"] as const;

const parse = (client: Client, text: string): unknown =>
  client === "codex" ? Bun.TOML.parse(text) : JSON.parse(text);

const original: Readonly<Record<Client, string>> = {
  "claude-code": `{\n    "permissions": {"allow": ["Bash(ls:*)",   "Read"]},\n  "env": { "FOO": "ba\\"r}" }\n}`,
  codex: `# mine\nmodel_provider = "openai" # for now\n\n[projects."/home/me"]\ntrust_level = "trusted"\n`,
};

/** As the person would edit the file after us. */
const edited: Readonly<Record<Client, (text: string) => string>> = {
  "claude-code": (text) => text.replace('"Read"]', '"Read", "Write"]'),
  codex: (text) => text.replace("trust_level", 'other = "[x]"\ntrust_level'),
};

function put(file: string, text: string, mode = 0o644): void {
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text, { mode });
}

/** Every text below a folder. */
function textsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
}

describe("connect", () => {
  test.each(clientSnippets.map(({ id }) => id))("prints %s with the address and the key", async (client) => {
    const said = await sluice(newHome(), "connect", client, "--key", key.key);
    // Two of them request models of their own, which the demo does not have.
    const warned = client === "claude-code" || client === "codex" ? "this key cannot use" : "";
    expect(said).toMatchObject({ code: 0, stderr: warned === "" ? "" : expect.stringContaining(warned) });
    expect(said.stdout).toContain(gateway.url);
    expect(said.stdout).toContain(key.key);
    if (client !== "open-webui") expect(said.stdout).toContain("demo-");
  });

  test("finds out that a key is of a token budget", async () => {
    const said = await sluiceJson(newHome(), "connect", "claude-code", "--key", budgetKey.key);
    expect(said).toMatchObject({ url: `${gateway.url}/token` });
  });

  test("takes the key from SLUICE_KEY or a prompt, and refuses at once without either", async () => {
    const place = newHome();
    const env = { ...place.env, SLUICE_KEY: key.key };
    expect((await sluice({ ...place, env }, "connect", "curl")).stdout).toContain(key.key);
    expect((await sluice({ ...place, answer: key.key }, "connect", "curl")).stdout).toContain(key.key);
    const refused = await sluice(place, "connect", "curl");
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("--key");
  });

  test("says that no gateway answers, and prints the settings for it", async () => {
    const url = "http://127.0.0.1:1/v1/";
    const said = await sluice(newHome(), "connect", "codex", "--key", key.key, "--url", url);
    expect(said.code).toBe(0);
    expect(said.stderr).toContain("no gateway responds at http://127.0.0.1:1");
    expect(said.stdout).toContain('base_url="http://127.0.0.1:1/v1"');
  });

  test("refuses an address that a shell would read as more than an address", async () => {
    const url = "http://a.example/$(reboot)";
    const said = await sluice(newHome(), "connect", "curl", "--key", key.key, "--url", url);
    expect(said).toMatchObject({ code: 2, stdout: "" });
  });

  test("refuses where no gateway has run", async () => {
    const said = await sluice(newPlace(), "connect", "curl", "--key", key.key);
    expect(said).toMatchObject({ code: 1, stdout: "" });
    expect(said.stderr).toContain("--url");
  });

  test("does not write a key that the gateway rejects", async () => {
    const place = newHome();
    const wrong = `${key.key.slice(0, -1)}${key.key.endsWith("0") ? "1" : "0"}`;
    const said = await sluice(place, "connect", "claude-code", "--key", wrong, "--write");
    expect(said.code).toBe(1);
    expect(said.stderr).toContain("rejects the key");
    expect(said.stderr).not.toContain(wrong);
    expect(readdirSync(place.home)).toEqual([]);
  });

  test("a client without a file of its own is a misuse of --write and --undo", async () => {
    for (const option of ["--write", "--undo"]) {
      const said = await sluice(newHome(), "connect", "cline", "--key", key.key, option);
      expect(said.code).toBe(2);
      expect(said.stderr).toContain("claude-code and codex");
    }
  });

  test("keys create --for prints the settings with the new key", async () => {
    const place = { folder: gateway.folder, env: newHome().env ?? {} };
    const flags = ["keys", "create", "--mode", "token_budget", "--for", "claude-code"];
    const { stdout } = await sluice(place, ...flags);
    const [secret = ""] = /slu_\w{36}/.exec(stdout) ?? [];
    expect(stdout).toContain(`ANTHROPIC_BASE_URL=${gateway.url}/token ANTHROPIC_AUTH_TOKEN=${secret}`);
    const json = await sluiceJson<{ key: string }>(place, ...flags);
    expect(json).toMatchObject({
      connect: { client: "claude-code", settings: expect.stringContaining(json.key) },
    });
  });

  test("keys create --for has the public address if there is one, because the settings are for someone else", async () => {
    const place = newPlace();
    const served = (admin: object) => {
      const written = { file: null, written: { admin }, prices: [] };
      const text = JSON.stringify({ address: "http://127.0.0.1:8787", config: written });
      writeFileSync(join(place.folder, "sluice-data", "served.json"), text);
    };
    const create = async () =>
      (await sluice(place, ..."keys create --mode credit --credit 1 --for claude-code".split(" "))).stdout;
    await create();
    served({ public_url: "https://sluice.example.com/" });
    expect(await create()).toContain("ANTHROPIC_BASE_URL=https://sluice.example.com ");
    served({});
    expect(await create()).toContain("ANTHROPIC_BASE_URL=http://127.0.0.1:8787 ");
  });
});

describe.each(clients)("connect %s --write", (client) => {
  const write = (place: Place, secret = key.key) =>
    sluice(place, "connect", client, "--write", "--key", secret);
  const undo = (place: Place) => sluice(place, "connect", client, "--undo");

  test("creates the file, and --undo deletes it", async () => {
    const place = newHome();
    const file = files[client](place.home);
    expect(await write(place)).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(file, "utf8")).toContain(key.key);
    expect(readFileSync(file, "utf8")).toContain("demo-");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await undo(place)).toMatchObject({ code: 0, stderr: "" });
    expect(textsIn(place.home)).toEqual([]);
  });

  test("keeps everything else, says what it changed, and --undo restores the bytes and the mode", async () => {
    const place = newHome();
    const file = files[client](place.home);
    put(file, original[client]);
    chmodSync(file, 0o640);
    const said = await write(place);
    expect(said.stdout).toContain(file);
    expect(said.stdout).toContain(`${file}.sluice-backup`);
    expect(said.stdout).not.toContain(key.key);
    expect(readFileSync(`${file}.sluice-backup`, "utf8")).toBe(original[client]);
    expect(parse(client, readFileSync(file, "utf8"))).toMatchObject(
      client === "codex"
        ? { model_provider: "sluice", projects: { "/home/me": { trust_level: "trusted" } } }
        : {
            env: { FOO: 'ba"r}', ANTHROPIC_AUTH_TOKEN: key.key },
            permissions: { allow: ["Bash(ls:*)", "Read"] },
          },
    );
    expect((await undo(place)).code).toBe(0);
    expect(readFileSync(file, "utf8")).toBe(original[client]);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(textsIn(place.home)).toEqual([original[client]]);
  });

  test("written twice, --undo still restores the first bytes, and neither key is left", async () => {
    const place = newHome();
    const file = files[client](place.home);
    put(file, original[client]);
    await write(place);
    await write(place, budgetKey.key);
    expect(readFileSync(file, "utf8")).toContain(`${gateway.url}/token`);
    expect(textsIn(place.home).join("")).not.toContain(key.key);
    await undo(place);
    expect(textsIn(place.home)).toEqual([original[client]]);
  });

  test("after an edit by the person, --undo removes only our settings", async () => {
    const place = newHome();
    const file = files[client](place.home);
    put(file, original[client]);
    await write(place);
    writeFileSync(file, edited[client](readFileSync(file, "utf8")));
    const said = await undo(place);
    expect(said.stdout).toContain("edited since");
    expect(textsIn(place.home)).toEqual([edited[client](original[client])]);
  });

  test("after an edit by the person, another --write and --undo keep the edit", async () => {
    const place = newHome();
    const file = files[client](place.home);
    put(file, original[client]);
    await write(place);
    writeFileSync(file, edited[client](readFileSync(file, "utf8")));
    await write(place, budgetKey.key);
    await undo(place);
    expect(textsIn(place.home)).toEqual([edited[client](original[client])]);
  });

  test("a file that we created and the person edited is kept without our settings", async () => {
    const place = newHome();
    const file = files[client](place.home);
    await write(place);
    const text = readFileSync(file, "utf8");
    const added =
      client === "codex" ? `${text}\n[tui]\ntheme = "x"\n` : text.replace("{", '{\n  "theme": "x",');
    writeFileSync(file, added);
    await undo(place);
    expect(parse(client, readFileSync(file, "utf8"))).toEqual(
      client === "codex" ? { tui: { theme: "x" } } : { theme: "x" },
    );
    expect(textsIn(place.home).join("")).not.toContain("slu_");
  });

  test("nothing to undo is exit 1, and so is undoing twice", async () => {
    const place = newHome();
    put(files[client](place.home), original[client]);
    expect(await undo(place)).toMatchObject({ code: 1, stderr: expect.stringContaining("nothing to undo") });
    await write(place);
    await undo(place);
    expect((await undo(place)).code).toBe(1);
    expect(textsIn(place.home)).toEqual([original[client]]);
  });

  test("a file that cannot be parsed is an error, and nothing is written", async () => {
    const place = newHome();
    put(files[client](place.home), "{ not = [valid");
    const said = await write(place);
    expect(said.code).toBe(1);
    expect(said.stderr).toContain(files[client](place.home));
    expect(textsIn(place.home)).toEqual(["{ not = [valid"]);
  });

  test("a file that was broken since is an error of --undo, and nothing is written", async () => {
    const place = newHome();
    const file = files[client](place.home);
    put(file, original[client]);
    await write(place);
    writeFileSync(file, `${readFileSync(file, "utf8")}\n]broken`);
    const before = textsIn(place.home);
    expect((await undo(place)).code).toBe(1);
    expect(textsIn(place.home)).toEqual(before);
  });

  test("a link into a folder of dotfiles stays a link", async () => {
    const place = newHome();
    const file = files[client](place.home);
    const real = join(place.folder, "dotfile");
    writeFileSync(real, original[client]);
    mkdirSync(join(file, ".."), { recursive: true });
    symlinkSync(real, file);
    await write(place);
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, "utf8")).toContain(key.key);
    await undo(place);
    expect(readFileSync(real, "utf8")).toBe(original[client]);
  });

  test("honours the client's own variable for its folder", async () => {
    const place = newHome();
    const folder = join(place.home, "elsewhere");
    const name = client === "codex" ? "CODEX_HOME" : "CLAUDE_CONFIG_DIR";
    await write({ ...place, env: { ...place.env, [name]: folder } });
    expect(readdirSync(place.home)).toEqual(["elsewhere"]);
    expect(existsSync(join(folder, client === "codex" ? "config.toml" : "settings.json"))).toBe(true);
  });
});

test("a comment after Codex's model stays, and --undo restores the line", async () => {
  const place = newHome();
  const file = files.codex(place.home);
  const before = "model = \"a # b\" # the team agreed on it\nmodel_provider = 'openai'# as before\n";
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, before);
  const write = ["connect", "codex", "--write", "--key", key.key, "--model", "demo-small"];
  expect(await sluice(place, ...write)).toMatchObject({ code: 0 });
  const [model, provider] = readFileSync(file, "utf8").split("\n");
  expect(model).toBe('model = "demo-small" # the team agreed on it');
  expect(provider).toBe('model_provider = "sluice" # as before');
  expect(await sluice(place, "connect", "codex", "--undo")).toMatchObject({ code: 0 });
  expect(readFileSync(file, "utf8")).toBe(before);
});

test("a provider of the same name in Codex's file is replaced, and put back", async () => {
  const place = newHome();
  const file = files.codex(place.home);
  const mine = `model = "x"\n\n[model_providers.sluice]\nname = "mine"\nbase_url = "http://mine"\n\n[tui]\na = 1\n`;
  put(file, mine);
  await sluice(place, "connect", "codex", "--write", "--key", key.key);
  expect(Bun.TOML.parse(readFileSync(file, "utf8"))).toMatchObject({
    model_providers: { sluice: { name: "Sluice" } },
    tui: { a: 1 },
  });
  writeFileSync(file, `${readFileSync(file, "utf8")}\n[more]\nb = 2\n`);
  await sluice(place, "connect", "codex", "--undo");
  expect(Bun.TOML.parse(readFileSync(file, "utf8"))).toEqual({
    ...(Bun.TOML.parse(mine) as object),
    more: { b: 2 },
  });
});

test("a provider of the same name that is written inline is left alone, with an error", async () => {
  const place = newHome();
  const file = files.codex(place.home);
  const mine = `model_providers = { sluice = { name = "mine" } }\n`;
  put(file, mine);
  const said = await sluice(place, "connect", "codex", "--write", "--key", key.key);
  expect(said.code).toBe(1);
  expect(textsIn(place.home)).toEqual([mine]);
});
