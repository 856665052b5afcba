import { expect, test } from "bun:test";
import { Sluice } from "../support/sluice.ts";

const config = '[providers.demo]\nkind = "demo"\n';

test("what an operation rejects is named like the options of the command", async () => {
  await using sluice = await Sluice.start({ config });
  await sluice.told("listening on");
  const rejected = ["caps", "add", "5/day", "--owner", "ada@example.com", "--values", "5"];
  const expected = "`--values` is only for caps that count each value; remove it";
  const said = await sluice.cli(...rejected);
  expect([said.code, said.stderr.trim()]).toEqual([1, `error: ${expected}`]);
  const { stderr } = await sluice.cli(...rejected, "--json");
  expect(JSON.parse(stderr)).toEqual({ error: { message: expected } });
  const both = await sluice.cli("caps", "add", "5/day", "--each", "owner", "--tag", "project=atlas");
  expect(both.stderr).toContain("`--each`, `--owner`, `--user` and `--tag`");
});
