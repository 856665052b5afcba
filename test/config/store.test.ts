import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { locateStore } from "../../src/config/store.ts";
import { newFolder } from "../support/new-folder.ts";
import { load, problemsOf } from "./fixtures.ts";

const plain = "postgres://sluice@db.example.com:5432/sluice?sslmode=verify-full";
const secret = "postgres://sluice:hunter2-hunter2@db.example.com/sluice";
const file = (lines: string) => `[store]\n${lines}\n`;

describe("the store", () => {
  test("is the data folder, unless a database is named", () => {
    expect(load("").settings.store).toBeNull();
    expect(load(file("prepare = false")).settings.store).toBeNull();
  });

  test("is named by a flag, else by the environment, else by the file", () => {
    const toml = file(`url = "${plain}"`);
    const env = { SLUICE_STORE: "postgres://env@host/db" };
    const flags = { store: "postgres://flag@host/db" };
    expect(load(toml).settings.store).toEqual({ url: plain, password: null, prepare: true });
    expect(load(toml, { env }).settings.store?.url).toBe(env.SLUICE_STORE);
    expect(load(toml, { env, flags }).settings.store?.url).toBe(flags.store);
  });

  test("takes URL and password from where secrets are kept", () => {
    const env = { DATABASE_URL: secret, PG: "from-outside", HOSTLESS: plain };
    expect(load(file('url = "env:DATABASE_URL"'), { env }).settings.store?.url).toBe(secret);
    const apart = file('url = "env:HOSTLESS"\npassword = "env:PG"\nprepare = false');
    expect(load(apart, { env }).settings.store).toEqual({
      url: plain,
      password: "from-outside",
      prepare: false,
    });
    const path = join(newFolder(), "password");
    writeFileSync(path, "from-a-file\n");
    expect(load(file(`url = "${plain}"\npassword = "file:${path}"`)).settings.store?.password).toEqual({
      file: path,
      atStart: "from-a-file",
    });
    expect(load("", { env: { SLUICE_STORE: secret } }).settings.store?.url).toBe(secret);
    expect(load("", { env: { ...env, SLUICE_STORE: "env:DATABASE_URL" } }).settings.store?.url).toBe(secret);
  });

  const refused: readonly (readonly [
    what: string,
    toml: string,
    given: Parameters<typeof load>[1],
    said: string,
  ])[] = [
    ["a password in the file", file(`url = "${secret}"`), {}, "store.url: has a password"],
    ["a password on the command line", "", { flags: { store: secret } }, "--store: has a password"],
    ["a variable that is not set", file('url = "env:NOWHERE"'), {}, "store.url: NOWHERE is not set"],
    [
      "a password that is not set",
      file(`url = "${plain}"\npassword = "env:NOWHERE"`),
      {},
      "store.password: NOWHERE",
    ],
    [
      "a plain password",
      file(`url = "${plain}"\npassword = "hunter2"`),
      {},
      "store.password: secrets are not allowed",
    ],
    [
      "a password with a bare %",
      file('url = "env:DATABASE_URL"'),
      { env: { DATABASE_URL: "postgres://u:hunter2%@h/d" } },
      "store.url: has a % that does not begin an encoded character",
    ],
    ["another database", file('url = "mysql://a@b/c"'), {}, "store.url: must be of the form postgres://"],
    [
      "several hosts",
      "",
      { env: { SLUICE_STORE: "postgres://u@a:1,b:2/c" } },
      "SLUICE_STORE: must be of the form",
    ],
    [
      "two passwords",
      file('url = "env:DATABASE_URL"\npassword = "env:PG"'),
      { env: { DATABASE_URL: secret, PG: "x" } },
      "store.password: both store.url and store.password have a password",
    ],
  ];
  for (const [what, toml, given, said] of refused) {
    test(`refuses ${what}, and repeats no secret`, () => {
      const problems = problemsOf(toml, given);
      expect(problems).toHaveLength(1);
      expect(problems[0]).toStartWith(said);
      expect(problems[0]).not.toContain("hunter2");
    });
  }

  test("is found by commands although the rest of the file is wrong", () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "sluice.toml"), `${file(`url = "${plain}"`)}[server]\nport = "no"\n`);
    expect(locateStore({ env: {}, cwd })).toEqual({ url: plain, password: null, prepare: true });
    expect(locateStore({ env: {}, cwd, store: "postgres://a@b/c" })?.url).toBe("postgres://a@b/c");
    expect(() => locateStore({ env: {}, cwd, store: secret })).toThrow("has a password");
  });
});
