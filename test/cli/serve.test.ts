import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasKeyForm } from "../../src/keys/secret.ts";
import { newFolder } from "../support/new-folder.ts";
import { run, type ServerProcess, serve, type Where } from "../support/process.ts";
import { waitFor } from "../support/wait.ts";
import type { KeyJson } from "./fixtures.ts";

const running: ServerProcess[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const server of running.splice(0)) {
    server.signal("SIGKILL");
    await server.exited;
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newWhere(): Where {
  const cwd = newFolder();
  folders.push(cwd);
  return { cwd, env: { PATH: process.env["PATH"] ?? "", HOME: cwd } };
}

async function start(where: Where, ...args: string[]): Promise<ServerProcess> {
  const server = await serve(args, where);
  running.push(server);
  return server;
}

describe("the first run", () => {
  test("makes a key of each mode and leaves lines that stream an answer as pasted", async () => {
    const where = newWhere();
    const server = await start(where);
    const printed = server.output();
    const curls = printed
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line.startsWith("curl "));
    expect(curls).toHaveLength(2);
    expect(curls[0]).toContain(`${server.url}/v1/chat/completions`);
    expect(curls[1]).toContain(`${server.url}/token/v1/chat/completions`);
    for (const line of curls) {
      const child = Bun.spawn(["bash", "-c", line], { ...where, stdout: "pipe", stderr: "ignore" });
      const answer = await new Response(child.stdout).text();
      expect(answer).toContain('"object":"chat.completion.chunk"');
      expect(answer.trimEnd()).toEndWith("data: [DONE]");
    }
    const { stdout } = await run(["keys", "list", "--json"], where);
    const keys = JSON.parse(stdout) as KeyJson[];
    const made = keys.map(({ mode, label }) => `${mode}: ${label}`).sort();
    expect(made).toEqual(["credit: demo credit", "token_budget: demo token budget"]);
    expect(keys.every((key) => printed.includes(key.prefix))).toBe(true);
  });

  test("says that it listens on a line of its own, after everything else", async () => {
    const server = await start(newWhere());
    // The log has the same sentence, right before.
    await waitFor(() => /^listening on .*\n/m.test(server.output()), "the whole line");
    const lines = server.output().trimEnd().split("\n");
    expect(lines.at(-1)).toBe(`listening on ${server.url}`);
  });

  test("is only the first: a second start makes no key and prints none", async () => {
    const where = newWhere();
    const first = await start(where);
    first.signal("SIGTERM");
    expect(await first.exited).toBe(0);
    const file = join(where.cwd, "sluice-data", "first-start.txt");
    rmSync(file);
    await start(where);
    expect(existsSync(file)).toBe(false);
    expect(JSON.parse((await run(["keys", "list", "--json"], where)).stdout)).toHaveLength(2);
  });

  test("leaves a folder alone that has keys already", async () => {
    const where = newWhere();
    await run(["keys", "create", "--mode", "credit"], where);
    const server = await start(where);
    expect(server.output()).not.toContain("slu_");
  });
});

describe("starting", () => {
  const environmentOf = async (env: Record<string, string>) => {
    const where = newWhere();
    const server = await start({ cwd: where.cwd, env: { ...where.env, ...env } });
    return (await Bun.file(`/proc/${server.pid}/environ`).text()).split("\0");
  };
  const raised = "BUN_CONFIG_MAX_HTTP_REQUESTS=65535";

  test("tells the allocator to keep what it will need again, by starting itself again with the same id", async () => {
    const environment = await environmentOf({});
    expect(environment).toContain("MIMALLOC_PURGE_DELAY=1000");
    expect(environment).toContain("MIMALLOC_PURGE_HOLES_MIN_INTERVAL=2000");
  });

  test("leaves alone what the operator has told the allocator", async () => {
    const environment = await environmentOf({ MIMALLOC_PURGE_DELAY: "10" });
    expect(environment.filter((entry) => entry.startsWith("MIMALLOC_PURGE_DELAY="))).toEqual([
      "MIMALLOC_PURGE_DELAY=10",
    ]);
    expect(environment).toContain("MIMALLOC_PURGE_HOLES_MIN_INTERVAL=2000");
  });

  test("raises the cap on fetches, unless the operator has set it", async () => {
    expect(await environmentOf({})).toContain(raised);
    const set = "BUN_CONFIG_MAX_HTTP_REQUESTS=300";
    const environment = await environmentOf({ BUN_CONFIG_MAX_HTTP_REQUESTS: "300" });
    expect(environment).toContain(set);
    expect(environment).not.toContain(raised);
  }, 30_000);

  test("refuses a broken configuration with all its problems", async () => {
    const where = newWhere();
    writeFileSync(join(where.cwd, "sluice.toml"), "[server]\nprot = 1\nhots = 2\n");
    const { code, stdout, stderr } = await run(["serve", "--port", "0"], where);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain('server.prot (line 2): unknown name, did you mean "port"?');
    expect(stderr).toContain('server.hots (line 3): unknown name, did you mean "host"?');
  });

  test("refuses a port that another gateway has, with nothing made or told; the next start makes the keys", async () => {
    const { url } = await start(newWhere());
    const { port } = new URL(url);
    const where = newWhere();
    const { code, stdout, stderr } = await run(["serve", "--port", port], where);
    expect(code).toBe(1);
    expect(stderr).toContain(`port ${port} is in use on 127.0.0.1`);
    expect(stderr).toContain("; choose another with --port");
    expect(stdout).toBe("");
    expect((await start(where)).output()).toContain("First run: created two keys");
  });

  test("shares a port where both gateways are told to, and not where only one is", async () => {
    const sharing = newWhere();
    writeFileSync(join(sharing.cwd, "sluice.toml"), "[server]\nreuse_port = true\n");
    const first = await start(sharing);
    const { port } = new URL(first.url);
    const another = newWhere();
    writeFileSync(join(another.cwd, "sluice.toml"), "[server]\nreuse_port = true\n");
    const second = await start(another, "--port", port);
    expect(second.url).toBe(first.url);
    const { code } = await run(["serve", "--port", port], newWhere());
    expect(code).toBe(1);
  });

  test("refuses a data folder that is none", async () => {
    const where = newWhere();
    writeFileSync(join(where.cwd, "file"), "");
    const { code, stderr } = await run(["serve", "--port", "0", "--data", "file"], where);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `${join(where.cwd, "file")} is not a folder; pass a different folder with --data`,
    );
  });

  test("refuses a data folder that another gateway has open", async () => {
    const where = newWhere();
    await start(where);
    const { code, stderr } = await run(["serve", "--port", "0"], where);
    expect(code).toBe(1);
    expect(stderr).toContain("in use by a running gateway");
  });

  test("repeats warnings, such as a provider without its key", async () => {
    const where = newWhere();
    writeFileSync(
      join(where.cwd, "sluice.toml"),
      '[providers.openai]\nkind = "openai"\napi_key = "env:NO_KEY"\n',
    );
    const server = await start(where);
    expect(server.output()).toContain('! provider "openai" is skipped: NO_KEY is not set');
    expect(server.output()).not.toContain("curl ");
  });

  test("tells programs what it tells people", async () => {
    const { cwd, env } = newWhere();
    const { program } = await import("../support/process.ts");
    const child = Bun.spawn([...program(), "serve", "--port", "0", "--json"], { cwd, env, stdout: "pipe" });
    let output = "";
    for await (const chunk of child.stdout) {
      output += new TextDecoder().decode(chunk);
      if (output.includes("listening")) break;
    }
    child.kill("SIGKILL");
    await child.exited;
    const lines = output.trim().split("\n");
    const file = join(cwd, "sluice-data", "first-start.txt");
    const [keys, adminFile, ready] = lines.map((line) => JSON.parse(line));
    expect(adminFile).toEqual({ admin_token_file: file });
    const admin = JSON.parse(readFileSync(file, "utf8"));
    expect(keys.first_keys.map((key: KeyJson) => hasKeyForm(key.key ?? ""))).toEqual([true, true]);
    expect(admin.admin_token).toMatch(/^slua_[0-9A-Za-z]{32}$/);
    expect(ready.listening).toStartWith("http://127.0.0.1:");
  });
});

describe("signals", () => {
  test("SIGTERM and SIGINT end it well", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const server = await start(newWhere());
      server.signal(signal);
      expect(await server.exited).toBe(0);
    }
  });

  test("SIGHUP takes a sound configuration over, and keeps the old one when the new is broken", async () => {
    const where = newWhere();
    const model = (id: string) =>
      `[providers.demo]\nkind = "demo"\n[[models]]\nid = "${id}"\nprovider = "demo"\nfree = true\n`;
    const file = join(where.cwd, "sluice.toml");
    writeFileSync(file, model("before"));
    const server = await start(where);
    const models = async () => {
      const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: { id: string }[] };
      return data.map(({ id }) => id);
    };
    expect(await models()).toEqual(["before"]);

    writeFileSync(file, `${model("broken")}nonsense = 1\n`);
    server.signal("SIGHUP");
    await waitFor(() => server.output().includes("the old configuration keeps running"), "the refusal");
    expect(server.output()).toContain('model "broken", nonsense (line 7): unknown name');
    expect(await models()).toEqual(["before"]);

    writeFileSync(file, `[server]\nport = 1\n${model("after")}`);
    server.signal("SIGHUP");
    await waitFor(() => server.output().includes("the new configuration is running"), "the reload");
    expect(await models()).toEqual(["after"]);
  });
});

test("a key made, suspended and topped up beside a running gateway is so for the gateway within a second", async () => {
  const where = newWhere();
  const server = await start(where);
  const key: KeyJson = JSON.parse(
    (await run(["keys", "create", "--mode", "credit", "--json"], where)).stdout,
  );
  const usage = () => fetch(`${server.url}/v1/usage`, { headers: { authorization: `Bearer ${key.key}` } });
  const within = (condition: () => Promise<boolean>, what: string) => waitFor(condition, what, 1000);
  await within(async () => (await usage()).status === 200, "the new key to be known");
  await run(["keys", "topup", key.prefix, "2.5"], where);
  await within(async () => {
    const { credits } = (await (await usage()).json()) as { credits: { balance: number } };
    return credits.balance === 2.5;
  }, "the top-up to be known");
  await run(["keys", "suspend", key.prefix], where);
  await within(async () => (await usage()).status === 401, "the suspension to be known");
});
