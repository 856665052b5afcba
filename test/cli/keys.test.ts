import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { hasKeyForm } from "../../src/keys/secret.ts";
import { waitFor } from "../support/wait.ts";
import { type KeyJson, newPlace, type Place, sluice, sluiceJson } from "./fixtures.ts";

const create = (place: Place, ...flags: string[]) =>
  sluiceJson<KeyJson & { key: string }>(place, "keys", "create", "--mode", "credit", ...flags);

describe("keys create", () => {
  test("prints one object with the secret, on one line when piped", async () => {
    const { code, stdout } = await sluice(
      newPlace(),
      "keys",
      "create",
      "--mode",
      "credit",
      "--credit",
      "5",
      "--json",
    );
    expect(code).toBe(0);
    expect(stdout.trimEnd()).not.toContain("\n");
    const key = JSON.parse(stdout);
    expect(hasKeyForm(key.key)).toBe(true);
    expect(key).toMatchObject({
      prefix: key.key.slice(0, 12),
      mode: "credit",
      status: "active",
      provider_scope: "all",
      models: null,
      credit: { purchased: 5, used: 0, balance: 5 },
      budget: null,
    });
  });

  test("takes every limit", async () => {
    const place = newPlace();
    const flags = "--mode token_budget --label bob --budget 1_000_000 --period week --rpm 60 --provider demo";
    const key = await sluiceJson<KeyJson>(
      place,
      "keys",
      "create",
      ...flags.split(" "),
      "--models",
      "demo-small, demo-large",
      "--expires",
      "2099-01-31",
    );
    expect(key).toMatchObject({
      label: "bob",
      mode: "token_budget",
      provider_scope: "demo",
      models: ["demo-small", "demo-large"],
      rpm_limit: 60,
      expires_at: "2099-01-31T00:00:00.000Z",
      credit: null,
      budget: { tokens: 1_000_000, period: "week", used: 0, remaining: 1_000_000 },
    });
  });

  test("a budget is by the month unless told, and without a number has no limit", async () => {
    const key = await sluiceJson<KeyJson>(newPlace(), "keys", "create", "--mode", "token_budget");
    expect(key.budget).toMatchObject({ tokens: null, period: "month", remaining: null });
  });

  test("shows the secret to a person, once, and says so", async () => {
    const place = newPlace();
    const { stdout } = await sluice(place, "keys", "create", "--mode", "credit", "--credit", "0.25");
    const secret = /slu_\w{36}/.exec(stdout)?.[0] ?? "";
    expect(hasKeyForm(secret)).toBe(true);
    expect(stdout).toContain("it is not shown again");
    expect(stdout).toContain("0.25 credits");
    const shown = await sluice(place, "keys", "show", secret.slice(0, 12));
    expect(shown.stdout).not.toContain(secret);
  });

  test("refuses a scope or model that the configuration does not have, and makes no key", async () => {
    const place = newPlace();
    const make = (flags: string) => sluice(place, ...`keys create --mode credit ${flags}`.split(" "));
    const scoped = await make("--provider dmo");
    expect(scoped).toMatchObject({
      code: 1,
      stderr: 'error: provider "dmo" does not exist, did you mean "demo"?\n',
    });
    const listed = await make("--models demo-large,demo-smal");
    expect(listed.stderr).toBe('error: model "demo-smal" does not exist, did you mean "demo-small"?\n');
    expect(listed.code).toBe(1);
    expect((await make("--models nothing-like-it")).stderr).toContain("run `sluice models list`");
    expect(await sluiceJson<unknown[]>(place, "keys", "list")).toEqual([]);
  });

  test("cannot know the models of data whose configuration is elsewhere, and takes them as they are", async () => {
    const place = newPlace();
    const key = await create(place, "--data", "elsewhere", "--models", "gpt-9");
    expect(key.models).toEqual(["gpt-9"]);
  });

  test("says which data folder it wrote to, and so does every command that writes", async () => {
    const place = newPlace();
    const dir = join(place.folder, "sluice-data");
    const { prefix, data_folder } = await create(place);
    expect(data_folder).toBe(dir);
    for (const line of [
      "keys create --mode credit",
      `keys topup ${prefix} 1`,
      `keys adjust ${prefix} -1 --note over`,
      `keys update ${prefix} --rpm 5`,
      `keys rotate ${prefix}`,
    ]) {
      expect((await sluice(place, ...line.split(" "))).stderr).toContain(`in ${dir}`);
    }
    const [{ id }] = await sluiceJson<[KeyJson]>(place, "keys", "list");
    for (const line of [`keys disable ${id}`, `keys enable ${id}`, `keys revoke ${id} --yes`]) {
      expect((await sluice(place, ...line.split(" "))).stderr).toContain(`in ${dir}`);
    }
    expect((await sluice(place, "keys", "list")).stderr).toBe("");
  });

  test.each([
    ["keys create", "pass --mode credit"],
    ["keys create --mode debit", "Allowed choices are credit, token_budget"],
    ["keys create --mode credit --budget 5", "a credit key takes --credit"],
    ["keys create --mode token_budget --credit 5", "a token-budget key takes --budget"],
    ["keys create --mode credit --credit five", "Use credits such as 5 or 0.25"],
    ["keys create --mode credit --credit -5", "Use credits such as 5 or 0.25"],
    ["keys create --mode credit --credit 5000000", "at most 4000000"],
    ["keys create --mode credit --rpm 0", "a whole number from 1"],
    ["keys create --mode credit --rpm 3000000000", "Must be a whole number from 1 to 1000000000."],
    ["keys create --mode credit --expires 2001-01-01", "It must be in the future."],
    ["keys create --mode credit --expires soon", "Use a duration such as 30d"],
    ["keys create --mode credit --models ,", "Use names separated by commas."],
    ["keys create --mode credit extra", "too many arguments"],
    ["keys create --mode credit --lable x", "Did you mean --label?"],
    ["keys topup slu_12345678 0", "It must be above 0."],
    ["keys update slu_12345678", "nothing to change"],
    ["keys creat", "Did you mean create?"],
  ])("%s is a misuse: status 2, and nothing is made", async (line, message) => {
    const place = newPlace();
    const { code, stdout, stderr } = await sluice(place, ...line.split(" "));
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(existsSync(join(place.folder, "sluice-data"))).toBe(false);
  });
});

describe("finding a key", () => {
  test("by id, by prefix, and by a beginning that fits no other", async () => {
    const place = newPlace();
    const { id, prefix } = await create(place);
    await create(place);
    for (const name of [id, prefix, id.slice(0, 12), prefix.slice(0, 10)]) {
      expect((await sluiceJson<KeyJson>(place, "keys", "show", name)).id).toBe(id);
    }
  });

  test("a beginning that is too short, an unknown name and a whole secret are refused with advice", async () => {
    const place = newPlace();
    const { key, prefix } = await create(place);
    const refusal = async (name: string) => {
      const { code, stderr } = await sluice(place, "keys", "show", name);
      expect(code).toBe(1);
      return stderr;
    };
    expect(await refusal("slu_")).toContain('key "slu_" does not exist');
    expect(await refusal("key_unknown")).toContain("run `sluice keys list`");
    const whole = await refusal(key);
    expect(whole).toContain(`use its prefix instead: ${prefix}`);
    expect(whole).not.toContain(key);
  });

  test("a folder without data is left as it is", async () => {
    const place = newPlace();
    const { code, stderr } = await sluice(place, "keys", "list");
    expect(code).toBe(1);
    expect(stderr).toContain("./sluice-data has no data yet");
    expect(existsSync(join(place.folder, "sluice-data"))).toBe(false);
  });
});

describe("what can be done to a key", () => {
  test("topup adds credit, and with a reference only once", async () => {
    const place = newPlace();
    const { prefix } = await create(place, "--credit", "1");
    const topUp = () =>
      sluiceJson<KeyJson>(
        place,
        "keys",
        "topup",
        prefix,
        "0.5",
        "--reference",
        "invoice-1",
        "--note",
        "thanks",
      );
    expect(await topUp()).toMatchObject({ credit: { balance: 1.5 }, repeated: false });
    expect(await topUp()).toMatchObject({ credit: { balance: 1.5 }, repeated: true });
    const other = await sluice(place, "keys", "topup", prefix, "2", "--reference", "invoice-1");
    expect(other.code).toBe(1);
    expect((await sluice(place, "keys", "topup", prefix, "1")).stdout).toContain(
      "the balance is 2.50 credits",
    );
  });

  test("topup of a token-budget key is refused, and says what to do instead", async () => {
    const place = newPlace();
    const { prefix } = await sluiceJson<KeyJson>(place, "keys", "create", "--mode", "token_budget");
    const { code, stderr } = await sluice(place, "keys", "topup", prefix, "1");
    expect(code).toBe(1);
    expect(stderr).toContain("raise its budget");
  });

  test("update changes what is named and nothing else", async () => {
    const place = newPlace();
    const { prefix } = await create(place, "--label", "old", "--rpm", "5", "--models", "demo-small");
    const update = (...flags: string[]) => sluiceJson<KeyJson>(place, "keys", "update", prefix, ...flags);
    expect(await update("--label", "new")).toMatchObject({
      label: "new",
      rpm_limit: 5,
      models: ["demo-small"],
    });
    expect(await update("--rpm", "none", "--models", "all", "--label", "")).toMatchObject({
      label: null,
      rpm_limit: null,
      models: null,
    });
    expect((await sluice(place, "keys", "update", prefix, "--budget", "5")).code).toBe(1);
  });

  test("rotate gives a new secret, and the old one lives as long as the grace", async () => {
    const place = newPlace();
    const old = await create(place, "--credit", "1", "--label", "kept");
    const rotated = await sluiceJson<KeyJson>(place, "keys", "rotate", old.prefix, "--grace", "1h");
    expect(rotated).toMatchObject({ id: old.id, label: "kept", credit: { balance: 1 } });
    expect(hasKeyForm(rotated.key ?? "")).toBe(true);
    expect(rotated.key).not.toBe(old.key);
    expect(Date.parse(rotated.previous_secret_until ?? "")).toBeGreaterThan(Date.now());
    const again = await sluiceJson<KeyJson>(place, "keys", "rotate", rotated.prefix);
    // Logs and clients still have the old prefixes.
    for (const former of [old.prefix, rotated.prefix]) {
      const { code, stderr } = await sluice(place, "keys", "show", former);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `error: ${former} was rotated; the key's prefix is now ${again.prefix}\n`,
      });
    }
    expect(again.previous_secret_until).toBeNull();
  });

  test("the statuses follow their arrows", async () => {
    const place = newPlace();
    const { prefix } = await create(place);
    const to = async (verb: string, ...flags: string[]) => {
      const { code, stdout, stderr } = await sluice(place, "keys", verb, prefix, ...flags, "--json");
      return code === 0 ? (JSON.parse(stdout) as KeyJson).status : JSON.parse(stderr).error.message;
    };
    expect(await to("disable")).toBe("disabled");
    expect(await to("disable")).toBe("disabled");
    expect(await to("suspend")).toContain("is disabled; enable it before");
    expect(await to("enable")).toBe("active");
    expect(await to("suspend")).toBe("suspended");
    expect(await to("revoke", "--yes")).toBe("revoked");
    for (const verb of ["enable", "disable", "rotate"])
      expect(await to(verb)).toContain("is permanently revoked");
    expect(await to("update", "--label", "x")).toContain("is permanently revoked");
  });

  test("revoke is refused without a terminal and without --yes, asks on a terminal, and takes no for an answer", async () => {
    const place = newPlace();
    const { prefix } = await create(place, "--label", "alice");
    const status = async () => (await sluiceJson<KeyJson>(place, "keys", "show", prefix)).status;
    const silent = await sluice(place, "keys", "revoke", prefix);
    expect(silent.code).toBe(1);
    expect(silent.stderr).toContain("pass --yes");
    const no = await sluice({ ...place, answer: "n" }, "keys", "revoke", prefix);
    expect(no.code).toBe(1);
    expect(no.stderr).toContain(`${prefix} (alice) will be revoked permanently.`);
    expect(await status()).toBe("active");
    expect((await sluice({ ...place, answer: "y" }, "keys", "revoke", prefix)).code).toBe(0);
    expect(await status()).toBe("revoked");
  });
});

describe("keys list", () => {
  test("is an aligned table without colours in a pipe, and fits a narrow terminal", async () => {
    const place = newPlace();
    await create(place, "--credit", "12.5", "--label", "a label that goes on and on for quite a while");
    await sluiceJson(place, "keys", "create", "--mode", "token_budget", "--budget", "2500000");
    const piped = (await sluice(place, "keys", "list")).stdout;
    expect(piped).not.toContain("\u001b");
    const [header = "", first = "", second = ""] = piped.split("\n");
    expect(header.indexOf("MODE")).toBe(first.indexOf("credit"));
    expect(header.indexOf("MODE")).toBe(second.indexOf("token_budget"));
    expect(first).toContain("12.50 cr");
    expect(second).toContain("2,500,000 tok");
    const narrow = (await sluice({ ...place, columns: 100 }, "keys", "list")).stdout;
    expect(narrow).toContain("\u001b[2mKEY");
    expect(narrow).toContain("…");
    for (const line of narrow.trimEnd().split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(100);
  });

  test("says what a key may use: a provider, models, or all", async () => {
    const place = newPlace();
    await create(place, "--label", "a", "--models", "demo-small,demo-large");
    await create(place, "--label", "b", "--provider", "demo");
    await create(place, "--label", "c", "--provider", "demo", "--models", "demo-small");
    await create(place, "--label", "d");
    const lines = (await sluice(place, "keys", "list")).stdout.split("\n");
    const at = lines[0]?.indexOf("USES") ?? -1;
    const shown = lines.slice(1, 5).map((line) => line.slice(at).split(/ {2,}/)[0]);
    expect(shown).toEqual(["demo-small, demo-large", "demo", "demo: demo-small", "all"]);
  });

  test("finds the keys of one owner, and not of a longer name", async () => {
    const place = newPlace();
    await create(place, "--label", "laptop", "--owner", "ada@example.com");
    await create(place, "--label", "server", "--owner", "ada@example.com.org");
    await create(place, "--label", "ada@example.com");
    const labels = async (...options: string[]) =>
      (await sluiceJson<KeyJson[]>(place, "keys", "list", ...options)).map((key) => key.label);
    expect(await labels("--owner", "Ada@example.com")).toEqual(["laptop"]);
    expect(await labels("--owner", "ada@example.com", "--search", "server")).toEqual([]);
    expect((await sluice(place, "keys", "list", "--owner", "bob")).stdout).toBe('No keys of owner "bob".\n');
  });

  test("finds by label, and says so when nothing fits", async () => {
    const place = newPlace();
    await create(place, "--label", "alice");
    await create(place, "--label", "bob");
    const found = await sluiceJson<KeyJson[]>(place, "keys", "list", "--search", "ali");
    expect(found.map((key) => key.label)).toEqual(["alice"]);
    expect((await sluice(place, "keys", "list", "--search", "carol")).stdout).toBe(
      'No keys match "carol".\n',
    );
  });
});

test("enabling a key that has expired says how to give it a new expiry", async () => {
  const place = newPlace();
  const { id } = await sluiceJson<KeyJson>(place, "keys", "create", "--mode", "credit", "--expires", "1s");
  const enable = async () => {
    await sluice(place, "keys", "disable", id);
    return (await sluice(place, "keys", "enable", id)).stderr;
  };
  await waitFor(async () => (await enable()).includes("expired"), "the key to expire");
  expect(await enable()).toMatch(
    /^! it has expired; set a new expiry: `sluice keys update slu_\w{8} --expires 30d`$/m,
  );
});
