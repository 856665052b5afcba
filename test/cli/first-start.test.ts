import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../support/new-folder.ts";
import { program, run, serve, target } from "../support/process.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const model = '[[models]]\nid = "m"\nprovider = "real"\nfree = true\n';
const real = `[providers.real]\nkind = "openai"\napi_key = "env:NO_SUCH_KEY"\n${model}`;
const secretsFile = (sluice: Sluice) => join(sluice.folder, "data", "first-start.txt");

describe("the first start of a real configuration", () => {
  test("makes no key, says how to make one, and prints no secret", async () => {
    await using sluice = await Sluice.start({ config: real });
    await sluice.told("there are no keys yet; create one with `sluice keys create");
    expect(sluice.output).not.toMatch(/slua?_\w{30}/);
    expect(await sluice.cliJson<unknown[]>("keys", "list")).toEqual([]);
  });

  test("leaves the admin token in a file that only its owner can read, and says where", async () => {
    await using sluice = await Sluice.start({ config: real });
    const file = secretsFile(sluice);
    await sluice.told(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const token = /slua_\w{32}/.exec(readFileSync(file, "utf8"))?.[0];
    const headers = { authorization: `Bearer ${token}` };
    expect((await sluice.request("/admin/api/v1/health", { headers })).status).toBe(200);
  });

  test("is real also when the demo stands beside other providers", async () => {
    await using sluice = await Sluice.start({ config: `[providers.demo]\nkind = "demo"\n${real}` });
    expect(sluice.output).not.toMatch(/slua?_\w{30}/);
  });
});

test("a demo without models gets no keys, and says how to make one", async () => {
  await using sluice = await Sluice.start({ config: '[providers.demo]\nkind = "demo"\n' });
  await sluice.told("there are no keys yet; create one with `sluice keys create");
  expect(await sluice.cliJson<unknown[]>("keys", "list")).toEqual([]);
});

test("a start with a preset admin token still says where the dashboard is", async () => {
  await using sluice = await Sluice.start({ env: { SLUICE_ADMIN_TOKEN: "a-preset-token-of-mine" } });
  await sluice.told(`the dashboard is at ${sluice.url}/admin\n`);
  expect(sluice.output).not.toContain("a-preset-token-of-mine");
});

test("the first start of the demo without a terminal prints its keys, and leaves the admin token in the file", async () => {
  await using sluice = await Sluice.start();
  await sluice.told(`the dashboard's token is in ${secretsFile(sluice)}; read it, then delete it`);
  expect(sluice.output.match(/curl -N .+Bearer slu_\w{36}/g)).toHaveLength(2);
  expect(sluice.output).not.toContain("slua_");
  const inFile = readFileSync(secretsFile(sluice), "utf8");
  expect(inFile).toMatch(/slua_\w{32}/);
  expect(inFile).not.toContain("slu_");
  expect(await sluice.cliJson<unknown[]>("keys", "list")).toHaveLength(2);
});

test("the first start with a provider from the environment keeps its keys out of the output without a terminal", async () => {
  await using sluice = await Sluice.start({ env: { OPENAI_API_KEY: "sk-proj-0123456789abcdefghij" } });
  await sluice.told(`the first keys are in ${secretsFile(sluice)}; read it, then delete it`);
  expect(sluice.output).not.toMatch(/slua?_\w{30}/);
  expect(readFileSync(secretsFile(sluice), "utf8").match(/curl -N .+Bearer slu_\w{36}/g)).toHaveLength(2);
});

describe("the keys and the token of a trial", () => {
  const vendor = startProvider();
  beforeEach(() => vendor.reset());
  afterAll(() => vendor.stop());
  const environment = { OPENAI_API_KEY: "sk-proj-0123456789abcdefghij", OPENAI_BASE_URL: `${vendor.url}/v1` };
  const ofTrial = async (sluice: Sluice) => {
    const text = sluice.output + (await Bun.file(secretsFile(sluice)).text());
    return { keys: text.match(/slu_\w{36}$/gm) ?? [], token: /slua_\w{32}/.exec(text)?.[0] ?? "" };
  };
  const call = async (sluice: Sluice, key: string, model: string, origin: "" | "/token") => {
    const headers = { authorization: `Bearer ${key}` };
    const body = { model, messages: [{ role: "user", content: "Hello" }] };
    return (await sluice.request("/v1/chat/completions", { headers, body, origin })).status;
  };
  const health = async (sluice: Sluice, token: string) =>
    (await sluice.request("/admin/api/v1/health", { headers: { authorization: `Bearer ${token}` } })).status;

  test("are for the demo's models", async () => {
    await using sluice = await Sluice.start();
    const demo = ["demo-small", "demo-large", "demo-text"];
    const keys = await sluice.cliJson<{ models: string[] | null }[]>("keys", "list");
    expect(keys.map(({ models }) => models)).toEqual([demo, demo]);
  });

  test("end at the first start with a real provider, which issues others and says so", async () => {
    await using sluice = await Sluice.start();
    const trial = await ofTrial(sluice);
    const [credit = "", budget = ""] = trial.keys;
    expect(await call(sluice, budget, "demo-small", "/token")).toBe(200);
    expect(await health(sluice, trial.token)).toBe(200);
    await sluice.stop();
    rmSync(secretsFile(sluice));
    await sluice.restart({ env: environment });
    await sluice.told("the keys and the admin token of the trial are turned off");
    expect(await call(sluice, credit, "gpt-6-luna", "")).toBe(401);
    expect(await call(sluice, credit, "demo-small", "")).toBe(401);
    expect(await call(sluice, budget, "gpt-6-luna", "/token")).toBe(401);
    expect(await health(sluice, trial.token)).toBe(401);
    expect(vendor.requests).toEqual([]);
    const next = await ofTrial(sluice);
    expect(await call(sluice, next.keys[0] ?? "", "gpt-6-luna", "")).toBe(200);
    expect(await call(sluice, next.keys[1] ?? "", "gpt-6-luna", "/token")).toBe(403);
    expect(await health(sluice, next.token)).toBe(200);
    await sluice.stop();
    await sluice.restart({ env: environment });
    expect(sluice.output).not.toContain("trial");
    expect(await call(sluice, next.keys[0] ?? "", "gpt-6-luna", "")).toBe(200);
    expect(await health(sluice, next.token)).toBe(200);
  });

  test("end at a start or a reload with a file that has a real provider; keys of the operator's stay", async () => {
    const demo = '[providers.demo]\nkind = "demo"\n[[models]]\nid = "d"\nprovider = "demo"\nfree = true\n';
    const address = `[providers.real]\nkind = "openai"\nbase_url = "${vendor.url}/v1"\napi_key = "env:TEST_OPENAI_KEY"\n${model}`;
    for (const applyTo of ["start", "reload"]) {
      await using sluice = await Sluice.start({ config: demo });
      const { keys, token } = await ofTrial(sluice);
      const own = await sluice.createKey();
      if (applyTo === "reload") await sluice.reload(demo + address);
      else {
        await sluice.stop();
        await sluice.restart({ config: demo + address });
      }
      expect(await call(sluice, keys[0] ?? "", "d", "")).toBe(401);
      expect(await call(sluice, keys[1] ?? "", "d", "/token")).toBe(401);
      expect(await call(sluice, own.key, "m", "")).toBe(200);
      const revoked = await sluice.cliJson<{ detail: string }[]>("audit-log", "--search", "key.revoke");
      expect(revoked.map(({ detail }) => detail)).toEqual(["the trial has ended", "the trial has ended"]);
      if (applyTo === "reload") {
        await sluice.told("the keys of the demo no longer work");
        expect(await health(sluice, token)).toBe(200);
        await sluice.cliJson("backup", join(sluice.folder, "copy.db"));
        await sluice.cliJson("restore", join(sluice.folder, "copy.db"), "--yes");
      }
      expect(await health(sluice, token)).toBe(401);
      const shown = readFileSync(secretsFile(sluice), "utf8").match(/slua_\w{32}/g) ?? [];
      expect(await health(sluice, shown.at(-1) ?? "")).toBe(200);
    }
  });
});

const place = () => {
  const cwd = newFolder();
  return { cwd, env: { PATH: process.env["PATH"] ?? "", HOME: cwd } };
};

/** What is shipped, and the source, which is what `bun run dev` runs: starting is where they differ. */
describe.each([...new Set([target(), "source"])])("%s", (tested) => {
  const usual = target();
  beforeAll(() => {
    process.env["SLUICE_TEST_TARGET"] = tested;
  });
  afterAll(() => {
    process.env["SLUICE_TEST_TARGET"] = usual;
  });

  test("the first start of the demo prints its keys on a terminal, and leaves no file", async () => {
    const where = place();
    let printed = "";
    const decoder = new TextDecoder();
    const data = (_: unknown, chunk: Uint8Array) => {
      printed += decoder.decode(chunk, { stream: true });
    };
    const gateway = Bun.spawn([...program(), "serve", "--port", "0"], {
      ...where,
      terminal: { cols: 400, rows: 50, data },
    });
    try {
      await waitFor(() => printed.includes("listening on"), "the gateway to listen");
      expect(printed.match(/Bearer slu_\w{36}/g)).toHaveLength(2);
      expect(printed).toMatch(/slua_\w{32}/);
      expect(existsSync(join(where.cwd, "sluice-data", "first-start.txt"))).toBe(false);
    } finally {
      gateway.kill();
      await gateway.exited;
      rmSync(where.cwd, { recursive: true, force: true });
    }
  });

  describe("commands in the folder that `serve` was started in", () => {
    test("find the data that --data named, and what is served with it", async () => {
      const where = place();
      const server = await serve(["--data", "a/b"], where);
      try {
        expect(JSON.parse((await run(["keys", "list", "--json"], where)).stdout)).toHaveLength(2);
        const made = await run(["keys", "create", "--mode", "credit", "--models", "demo-smal"], where);
        expect(made.stderr).toContain('did you mean "demo-small"?');
        expect(existsSync(join(where.cwd, "sluice-data"))).toBe(false);
        // What is named goes before what is found.
        const named = await run(["keys", "list", "--data", "other"], where);
        expect(named.stderr).toContain("./other has no data yet");
      } finally {
        server.signal("SIGKILL");
        await server.exited;
        rmSync(where.cwd, { recursive: true, force: true });
      }
    });

    test("find the data that a configuration elsewhere names", async () => {
      const where = place();
      const other = newFolder();
      writeFileSync(
        join(other, "my.toml"),
        '[server]\ndata = "here"\n[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nfree = true\n',
      );
      const server = await serve(["--config", join(other, "my.toml")], where);
      try {
        const made = await run(["keys", "create", "--mode", "credit", "--models", "m", "--json"], where);
        expect(JSON.parse(made.stdout)).toMatchObject({ models: ["m"], data_folder: join(other, "here") });
      } finally {
        server.signal("SIGKILL");
        await server.exited;
        for (const folder of [where.cwd, other]) rmSync(folder, { recursive: true, force: true });
      }
    });
  });
});
