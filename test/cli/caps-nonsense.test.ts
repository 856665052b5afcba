import { beforeAll, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import type { CapDetailView } from "../../src/admin/caps/schema.ts";
import type { KeyView } from "../../src/admin/key-terms/schema.ts";
import { newPlace, sluice, sluiceJson } from "./fixtures.ts";

const place = newPlace();
const megabyte = Buffer.alloc(1 << 20, "x").toString();
const names: Record<string, string> = { MEGABYTE: megabyte, EMPTY: "" };
/** Words of a line that stand for something else. */
const wordsOf = (line: string) =>
  line.split(" ").map((word) => word.replace(/[A-Z]{3,}/, (name) => names[name] ?? name));

beforeAll(async () => {
  const key = await sluiceJson<KeyView>(place, "keys", "create", "--mode", "credit", "--credit", "5");
  await sluiceJson(
    place,
    "accounts",
    "create",
    "--mode",
    "token_budget",
    "--label",
    "tokens",
    "--budget",
    "10",
  );
  const each = await sluiceJson<CapDetailView>(place, "caps", "add", "20/day", "--each", "owner");
  const one = await sluiceJson<CapDetailView>(place, "caps", "add", "60/day", "--owner", "ada@example.com");
  Object.assign(names, { KEY: key.id, EACH: each.id, ONE: one.id });
});

/** What is wrong with the command line itself exits with 2, what the gateway rejects with 1. */
const nonsense: readonly (readonly [line: string, code: 1 | 2, said: string])[] = [
  ["add", 2, "cap"],
  ["add EMPTY --each owner", 2, "20/day"],
  ["add -5/day --each owner", 2, "20/day"],
  ["add 0/day --each user --optional", 1, "above 0"],
  ["add NaN/day --each owner", 2, "20/day"],
  ["add 1e3/day --each owner", 2, "20/day"],
  ["add 2,5/day --each owner", 2, "20/day"],
  ["add 0.1234567891/day --each owner", 2, "20/day"],
  ["add 20/year --each owner", 2, "20/day"],
  ["add 20 --each owner", 2, "20/day"],
  ["add 99999999999999999999/day --each user --optional", 1, "a cap can be at most"],
  ["add 20/day:MEGABYTE --each owner", 1, "too large"],
  ["add 20/day", 1, "exactly one of"],
  ["add 20/day --each owner --owner ada", 1, "one of"],
  ["add 20/day --each EMPTY", 2, "Use owner, user or tag:NAME"],
  ["add 20/day --each session", 2, "Use owner, user or tag:NAME"],
  ["add 20/day --each tag:", 2, "Use owner, user or tag:NAME"],
  ["add 20/day --each MEGABYTE", 2, "Use owner, user or tag:NAME"],
  ["add 20/day --owner EMPTY", 1, "owner"],
  ["add 20/day --owner MEGABYTE", 1, "too large"],
  ["add 20/day --user EMPTY", 1, "user"],
  ["add 20/day --user MEGABYTE", 1, "too large"],
  ["add 20/day --tag EMPTY", 1, "tag"],
  ["add 20/day --tag project", 1, "NAME=VALUE"],
  ["add 20/day --tag project=", 1, "NAME=VALUE"],
  ["add 20/day --tag MEGABYTE", 1, "too large"],
  ["add 20/day --each user --key EMPTY", 1, "key"],
  ["add 20/day --each user --key slu_00000000", 1, "slu_00000000"],
  ["add 20/day --each user --key MEGABYTE", 1, "too large"],
  ["add 20/day --each user --account EMPTY", 1, "account"],
  ["add 20/day --each user --account nobody", 1, "nobody"],
  ["add 20/day --each user --account MEGABYTE", 1, "too large"],
  ["add 20/day --each user --key KEY --account tokens", 1, "not both"],
  ["add 20/day --each user --key KEY --mode token_budget", 1, "remove `--mode`"],
  ["add 0.5/day --each user --account tokens", 1, "a whole number of tokens"],
  ["add 20/day --each user --optional --mode EMPTY", 2, "choices are credit, token_budget"],
  ["add 20/day --each user --optional --mode MEGABYTE", 2, "choices are credit, token_budget"],
  ["add 20/day --each user", 1, "optional"],
  ["add 20/week --each owner --optional", 1, "remove `--optional`"],
  ["add 20/day --owner ben --optional", 1, "`--optional` is only for"],
  ["add 20/day --owner ben --values 5", 1, "`--values` is only for"],
  ["add 30/day --each owner", 1, "EACH"],
  ["add 30/day:* --each owner", 1, "EACH"],
  ["add 20/week --each owner --values 0", 2, "from 1 to 10000"],
  ["add 20/week --each owner --values -1", 2, "from 1 to 10000"],
  ["add 20/week --each owner --values 1.5", 2, "from 1 to 10000"],
  ["add 20/week --each owner --values NaN", 2, "from 1 to 10000"],
  ["add 20/week --each owner --values 10001", 2, "from 1 to 10000"],
  ["add 20/week --each owner --values MEGABYTE", 2, "from 1 to 10000"],
  ["add 20/week --each owner --then demo-small", 1, "limit a pattern such as claude-opus-*"],
  ["add 20/day:demo-* --each owner --then demo-small", 1, "pass a model that it does not limit"],
  ["add 20/day:demo-large --each owner --then demo-smal", 1, 'did you mean "demo-small"'],
  ["add 20/day:big --each owner --then EMPTY", 1, "then"],
  ["add 20/day:big --each owner --then MEGABYTE", 1, "too large"],
  ["add 20/day:big --each owner --then-always", 1, "`--then-always` needs `--then`"],
  ["update", 2, "cap"],
  ["update EMPTY --limit 30/day", 1, "does not exist; run `sluice caps list`"],
  ["update cap_none --limit 30/day", 1, "cap cap_none does not exist"],
  ["update MEGABYTE --limit 30/day", 1, "does not exist; run `sluice caps list`"],
  ["update EACH", 1, "nothing to change; pass `--limit`"],
  ["update EACH --limit EMPTY", 2, "20/day"],
  ["update EACH --limit -1/day", 2, "20/day"],
  ["update EACH --limit 0/day", 1, "above 0"],
  ["update EACH --limit 99999999999999999999/day", 1, "a cap can be at most"],
  ["update EACH --limit 20/day:MEGABYTE", 1, "too large"],
  ["update EACH --values 0", 2, "from 1 to 10000"],
  ["update ONE --values 5", 1, "`--values` is only for"],
  ["update EACH --then demo-small", 1, "limit a pattern such as claude-opus-*"],
  ["update EACH --then MEGABYTE", 1, "too large"],
  ["update EACH --then-always", 1, "`--then-always` needs `--then`"],
  ["raise EACH", 2, "--note"],
  ["raise EACH 5", 2, "--note"],
  ["raise EACH EMPTY --note why", 2, "above 0"],
  ["raise EACH 0 --note why", 2, "above 0"],
  ["raise EACH NaN --note why", 2, "above 0"],
  ["raise EACH 99999999999999999999 --note why", 1, "at most"],
  ["raise EACH 5 --note EMPTY", 1, "note"],
  ["raise EACH 5 --note MEGABYTE", 1, "too large"],
  ["raise EACH 5 --note why --value EMPTY", 1, "value"],
  ["raise EACH 5 --note why --value MEGABYTE", 1, "too large"],
  ["raise ONE 5 --note why --value ben@example.com", 1, "limits ada@example.com only"],
  ["raise cap_none 5 --note why", 1, "cap cap_none does not exist"],
  ["remove", 2, "cap"],
  ["remove cap_none --yes", 1, "cap cap_none does not exist"],
  ["remove EMPTY --yes", 1, "does not exist; run `sluice caps list`"],
  ["remove MEGABYTE --yes", 1, "does not exist; run `sluice caps list`"],
  ["remove EACH", 1, "--yes"],
  ["show", 2, "cap"],
  ["show cap_none", 1, "cap cap_none does not exist"],
  ["show EMPTY", 1, "does not exist; run `sluice caps list`"],
  ["show MEGABYTE", 1, "does not exist; run `sluice caps list`"],
  ["list extra", 2, "too many arguments"],
  ["list --near EMPTY", 2, "from 0 to 100%"],
  ["list --near -1", 2, "80%"],
  ["list --near 101%", 2, "80%"],
  ["list --near NaN", 2, "80%"],
  ["list --each EMPTY", 2, "tag:NAME"],
  ["list --each nonsense", 2, "tag:NAME"],
  ["list --each MEGABYTE", 2, "tag:NAME"],
];

test.each(nonsense)("sluice caps %s", async (line, code, said) => {
  const before = await sluiceJson(place, "caps", "list");
  const result = await sluice(place, "caps", ...wordsOf(line));
  expect({ code: result.code, stdout: result.stdout, stderr: result.stderr.slice(0, 300) }).toMatchObject({
    code,
    stdout: "",
  });
  expect(result.stderr).toMatch(/^(error: |✗ )\S/m);
  expect(result.stderr).not.toMatch(/^\s+at /m);
  expect(result.stderr).toContain(wordsOf(said).join(" "));
  expect(result.stderr.length).toBeLessThan(1_000);
  expect(await sluiceJson(place, "caps", "list")).toEqual(before);
});
